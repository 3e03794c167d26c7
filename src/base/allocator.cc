// How programs, not the library, allocate: with jemalloc, and as many arenas as processors, so that
// what one thread frees another uses. In the C library's arenas, a server of many threads that
// evicts lists keeps several times what it has.
extern "C" {
// Read by jemalloc before main(); MALLOC_CONF in the environment goes over it. Large pages
// (thp:always) make lookups in many lists faster, and take more memory where little is kept.
extern const char* malloc_conf;
const char* malloc_conf = "percpu_arena:percpu";
}
