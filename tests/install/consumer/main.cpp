// The example of the README.
#include <cstdio>
#include <torchlean/runtime.hpp>

int main() {
  return torchlean::run_main([] {
    const auto x = torchlean::full(3, 2.0, TL_FLOAT32);
    const auto y = torchlean::exp(torchlean::add(x, x));
    std::printf("%g\n", torchlean::download<float>(y)[0]);
  });
}
