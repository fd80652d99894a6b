// Words written in a row, through the caches or past them.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_WORDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_WORDS_INL
#undef TORCHLEAN_CPU_WORDS_INL
#else
#define TORCHLEAN_CPU_WORDS_INL
#endif

#include <hwy/cache_control.h>

#include "vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// `count` words that the source yields: at(d, i) is a vector of those from i on, at(i) one of them.
// stream: past the caches; hwy::FlushStream() has to follow.
template <class W, class Source>
HWY_INLINE void write_words(W *to, uint64_t count, bool stream, Source source) {
  const LineTag<W> d;
  constexpr uint64_t width = hn::MaxLanes(d);
  constexpr uint64_t line = 64 / sizeof(W);
  uint64_t i = 0;
  if (stream && count >= 2 * line) {
    for (; reinterpret_cast<uintptr_t>(to + i) % 64 != 0; ++i) to[i] = source.at(i);
    for (; i + line <= count; i += line)
      for (uint64_t part = 0; part < line; part += width)
        hn::Stream(source.at(d, i + part), d, to + i + part);
  }
  for (; i + width <= count; i += width) hn::StoreU(source.at(d, i), d, to + i);
  for (; i < count; ++i) to[i] = source.at(i);
}

template <class W>
struct Copied {
  const W *from;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    return hn::LoadU(d, from + i);
  }
  HWY_INLINE W at(uint64_t i) const { return from[i]; }
};

template <class W>
struct Repeated {
  W value;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t) const {
    return hn::Set(d, value);
  }
  HWY_INLINE W at(uint64_t) const { return value; }
};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_WORDS_INL
