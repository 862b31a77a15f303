// Names that a link of the injector finds here before it finds them in libc: glibc 2.34 moved them there and
// gave them a new version, with which a program on an older system does not start at all. At run time the
// system's own libraries answer.
extern "C" {
// By the version that libdl.so.2 has had from the start (moved.map).
void dladdr() {}
void dlclose() {}
void dlopen() {}
void dlvsym() {}

// By no version. The injector refers to these weakly, and does without what a process lacks: _dl_find_object
// is of 2.35, and before 2.34 the others lie in libpthread.so.0, which it brings into no process.
void _dl_find_object() {}
void pthread_key_create() {}
void pthread_setspecific() {}
void sem_getvalue() {}
}
