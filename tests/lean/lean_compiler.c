/* Lean's compiler as a program: the library of the pinned wheel exports its main function. */
int lean_main(int argc, char **argv);

int main(int argc, char **argv) { return lean_main(argc, argv); }
