// The kernels behind index_select and gather, compiled when the library is built.
#include "compute/prelude/types.inl"
#include "compute/gather.inl"
