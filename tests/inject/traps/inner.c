// What plugin.c looks for.
int inner(void) { return 1; }
