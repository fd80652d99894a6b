// What the stand-ins for cuBLAS and cuFFT tell a test; each exports a function that returns it.
#pragma once

#include <cstddef>

struct FakeCublas {
  int handles = 0;
  void *stream = nullptr;
  bool is_tf32 = false;
  int answer = 0;  // of the next product
};

struct FakeCufft {
  int plans = 0;  // alive
  int made = 0;
  size_t workspace_bytes = 640;  // of plans made from now on
  void *workspace = nullptr;     // of the last transform
  int answer = 0;                // of the next transform
};
