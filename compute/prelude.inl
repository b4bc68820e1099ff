// The prelude in the order of its parts. As a string it is the same parts one after the other, and
// those that only kernels have (prelude_text.hpp).
#include "compute/prelude/types.inl"
#include "compute/prelude/arithmetic.inl"
#include "compute/prelude/exponential.inl"
#include "compute/prelude/power.inl"
#include "compute/prelude/trigonometric.inl"
#include "compute/prelude/special.inl"
#include "compute/prelude/random.inl"
#include "compute/prelude/reduce.inl"
#include "compute/prelude/narrow_forms.inl"
#include "compute/prelude/narrow.inl"
