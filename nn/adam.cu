// Adam's kernel, compiled when the library is built.
#pragma nv_diag_suppress 186  // unsigned numbers are compared with 0
#include "compute/prelude.inl"
#include "nn/adam.inl"
