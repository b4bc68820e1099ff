// A library to open at run time; built twice, with different majors.
extern "C" __attribute__((visibility("default"))) int sample_major() { return SAMPLE_MAJOR; }
