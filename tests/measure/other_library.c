/* Stands for a library that has nothing to do with AttnScope. */
int answer(void) {
  return 42;
}
