// How programs, not the library, allocate: with jemalloc, set up for servers that keep much in
// small pieces. As many arenas as processors, so that what one thread frees another uses (with the
// C library's, a server of many threads that evicts lists keeps several times what it has), and
// large pages, without which a random access to many lists mostly waits for the page tables.
extern "C" {
extern const char* malloc_conf;  // read by jemalloc before main(); MALLOC_CONF in the environment
                                 // goes over it
const char* malloc_conf = "percpu_arena:percpu,thp:always";
}
