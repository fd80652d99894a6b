// The frame of a layer: an instance that owns an instance and forwards every entry of every family.
#pragma once

#include <torchlean/backend.h>

#include <torchlean/backend.hpp>
#include <type_traits>

#include "layers/layers.hpp"
#include "loader/table.hpp"

namespace torchlean {

namespace detail {

// The function that stands in a layer's table for one entry.
template <class Hook, class Entry, class Function>
struct Forward;

template <class Hook, class Entry, class Result, class... Arguments>
struct Forward<Hook, Entry, Result (*)(tl_instance *, Arguments...)> {
  static inline Entry entry = {};

  static Result call(tl_instance *self, Arguments... arguments) {
    auto &inner = *reinterpret_cast<LayeredInstance *>(self);
    const auto function = function_in(inner.table, entry);
    const auto forward = [&] { return function(inner.instance, arguments...); };
    return Hook::call(entry.family_name, entry.name, forward, arguments...);
  }
};

}  // namespace detail

// Puts a layer around `inner`. For each call of an entry, Hook::call(family name, entry name,
// forward, arguments...) runs and returns what forward(), which calls the inner instance, returned.
template <class Hook>
LayeredInstance add_layer(const LayeredInstance &inner) {
  LayeredInstance outer = {};
  for_each_entry([&](auto entry) {
    auto &function = function_in(outer.table, entry);
    using Function = std::remove_cvref_t<decltype(function)>;
    using Forward = detail::Forward<Hook, decltype(entry), Function>;
    Forward::entry = entry;
    function = &Forward::call;
  });
  outer.instance = reinterpret_cast<tl_instance *>(new LayeredInstance(inner));
  outer.destroy = [](tl_instance *self) {
    auto *owned = reinterpret_cast<LayeredInstance *>(self);
    owned->destroy(owned->instance);
    delete owned;
  };
  return outer;
}

}  // namespace torchlean
