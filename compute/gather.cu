// The kernels behind index_select, gather and arange, compiled when the library is built.
#include "compute/prelude/types.inl"
#include "compute/gather.inl"
