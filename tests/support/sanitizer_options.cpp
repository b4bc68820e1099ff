// Options of the sanitizers for every test program.
#ifdef __SANITIZE_ADDRESS__

// AddressSanitizer guesses where a library that was opened at run time keeps its thread-local
// memory from what lies in front of that. With libdw the guess is garbage at times, and the leak
// checker, which follows it, ends the test. Visible, or the sanitizer never sees it.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }

#endif
