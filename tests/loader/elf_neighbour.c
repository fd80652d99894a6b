/* A library beside a fixture: it has no note, and calls the entry point without defining it. */
__attribute__((weak)) int torchlean_backend_entry(void); /* weak: it can be opened nevertheless */
int elf_neighbour(void);
int elf_neighbour(void) { return torchlean_backend_entry ? torchlean_backend_entry() : 0; }
