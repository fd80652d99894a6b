// Contents of operands, and a rough look at results.
#include "bench/prepared.hpp"

#include <cmath>
#include <cstring>

namespace torchlean::tools {
namespace {

struct Range {
  double low;
  double high;
};

Range range_of(Content content) {
  switch (content) {
    case Content::positive: return {0.5, 1.5};
    case Content::decay: return {0.9, 1};
    default: return {-2, 2};
  }
}

template <class T>
std::vector<std::byte> words_of(const Operand &operand, std::uint64_t seed) {
  const auto [low, high] = range_of(operand.content);
  std::vector<std::byte> words(operand.count * sizeof(T));
  Random random(seed);
  for (std::uint64_t i = 0; i < operand.count; ++i) {
    const auto value = static_cast<T>(low + (high - low) * random.uniform());
    std::memcpy(words.data() + i * sizeof(T), &value, sizeof(T));
  }
  return words;
}

std::vector<double> as_numbers(const std::vector<std::byte> &words, tl_dtype dtype) {
  const std::size_t width = dtype == TL_FLOAT32 ? sizeof(float) : sizeof(double);
  std::vector<double> numbers(words.size() / width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == TL_FLOAT64) {
      std::memcpy(&numbers[i], words.data() + i * width, width);
    } else {
      float number = 0;
      std::memcpy(&number, words.data() + i * width, width);
      numbers[i] = static_cast<double>(number);
    }
  }
  return numbers;
}

}  // namespace

Prepared::Prepared(const Workload &row)
    : row_(&row), operation_(find_operation(row.one.operation)) {
  const tl_dtype dtype = row.one.dtype;
  for (std::size_t k = 0; k < row.operands.size(); ++k) {
    std::vector<std::byte> words = dtype == TL_FLOAT32 ? words_of<float>(row.operands[k], k)
                                                       : words_of<double>(row.operands[k], k);
    inputs_.push_back(upload_words(words, dtype, dtype));
    if (row.host_call != nullptr) host_.operands.push_back(std::move(words));
  }
  if (row.host_call != nullptr) {
    host_.result.resize(row.results * (dtype == TL_FLOAT32 ? sizeof(float) : sizeof(double)));
  }
}

std::vector<std::vector<double>> Prepared::values() {
  const Results results = call();
  std::vector<std::vector<double>> values;
  if (results.replay) return values;
  for (const Buffer &buffer : results.buffers) {
    if (buffer.get() != nullptr) values.push_back(download<double>(buffer));
  }
  // What has no buffer lies on the host.
  if (values.empty()) values.push_back(as_numbers(host_.result, row_->one.dtype));
  return values;
}

bool do_agree(const std::vector<std::vector<double>> &expected,
              const std::vector<std::vector<double>> &got) {
  if (expected.size() != got.size()) return expected.empty() || got.empty();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (expected[k].size() != got[k].size()) return false;
    double norm = 0;
    double error = 0;
    for (std::size_t i = 0; i < expected[k].size(); ++i) {
      const double a = expected[k][i];
      const double b = got[k][i];
      if (std::isnan(a) != std::isnan(b) || std::isinf(a) != std::isinf(b)) return false;
      if (!std::isfinite(a)) continue;
      norm += a * a;
      error += (a - b) * (a - b);
    }
    if (error > 1e-6 * norm) return false;
  }
  return true;
}

}  // namespace torchlean::tools
