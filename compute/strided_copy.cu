// The kernels that write to views with strides, compiled when the library is built.
#include "compute/prelude/types.inl"
#include "compute/strided_copy.inl"
