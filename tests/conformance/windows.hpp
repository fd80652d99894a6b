// Which elements meet in the windows of convolutions and pools.
#pragma once

#include "sums.hpp"
#include "support/window_oracle.hpp"

#include <array>

namespace torchlean::conformance {

// One spatial axis.
struct Axis {
  std::int64_t in, kernel, stride = 1, before = 0, after = 0, dilation = 1;
};
using Axes = std::vector<Axis>;  // one to three

// A member of every axis, as the API takes it.
inline std::vector<std::uint64_t> list_of(const Axes &axes, std::int64_t Axis::*member) {
  std::vector<std::uint64_t> values;
  for (const Axis &axis : axes) values.push_back(static_cast<std::uint64_t>(axis.*member));
  return values;
}

inline Windows windows_of(const Axes &axes) {
  return {list_of(axes, &Axis::in), list_of(axes, &Axis::kernel), list_of(axes, &Axis::stride),
          list_of(axes, &Axis::before)};
}

inline std::string text_of(const Axes &axes) {
  std::string text;
  for (const Axis &a : axes)
    text += (text.empty() ? "" : " x ") + std::to_string(a.in) + ":k" + std::to_string(a.kernel) +
            "s" + std::to_string(a.stride) + "p" + std::to_string(a.before) + "," +
            std::to_string(a.after) + "d" + std::to_string(a.dilation);
  return text;
}

inline std::uint64_t volume(const std::vector<std::int64_t> &lengths) {
  std::uint64_t result = 1;
  for (const std::int64_t length : lengths) result *= static_cast<std::uint64_t>(length);
  return result;
}
inline std::uint64_t volume(const Axes &axes, std::int64_t Axis::*member) {
  std::uint64_t result = 1;
  for (const Axis &axis : axes) result *= static_cast<std::uint64_t>(axis.*member);
  return result;
}

// All (window, tap, position) that meet, where the windows lie on `positions`.
inline std::vector<Meeting> meetings_of(const Axes &axes, const std::vector<std::int64_t> &windows,
                                        const std::vector<std::int64_t> &positions) {
  std::array<OracleAxis, 3> three;
  three.fill({1, 1, 1, 1, 1, 0});
  for (std::size_t i = 0; i < axes.size(); ++i)
    three[3 - axes.size() + i] = {windows[i],     axes[i].kernel,   positions[i],
                                  axes[i].stride, axes[i].dilation, axes[i].before};
  return meetings(three);
}

// Sums of products, one for each element of a result. An element that something nonfinite reaches
// is not looked at.
template <class T>
struct Accumulated {
  explicit Accumulated(std::size_t n) : sums(n), is_reached(n) {}

  void add(std::size_t i, const Number &term) {
    if (abs(term) <= Number(std::numeric_limits<double>::max()))
      sums[i].add(term);
    else
      is_reached[i] = true;
  }
  void check(Check &check, const Buffer &got, const char *what) const {
    check.each<T>(got, sums.size(), what, [&](std::size_t i, T value) -> std::string {
      if (is_reached[i]) return "";
      Number bound = sums[i].bound(2 * static_cast<double>(sums[i].terms)) / divisor;
      const Number exact = sums[i].value / divisor;
      if (abs(exact) <= Number(Values<T>::normal)) bound += Number(2) * Values<T>::tiny;
      return std::isfinite(value) && abs(Number(value) - exact) <= bound
                 ? ""
                 : text_of(exact.template rounded<T>()) + " within " +
                       text_of(bound.template rounded<double>());
    });
  }

  std::vector<Sum<T>> sums;
  std::vector<bool> is_reached;
  Number divisor = 1;
};

}  // namespace torchlean::conformance
