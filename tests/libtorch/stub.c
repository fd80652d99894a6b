/* A library that stands in for one of LibTorch's where the loader looks at it. */
int torchlean_stub(void);
int torchlean_stub(void) { return 0; }
