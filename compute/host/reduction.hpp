// Reductions on the host: a fixed tree, whatever the number of threads.
#pragma once

#include "compute/host/block_program.hpp"
#include "compute/host/threads.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// Runs a program that ends in a reduction. The tree follows from the extents alone: 64 lanes
/// within a row of at most kBlock elements, then rows in order, f32 in double precision.
void reduce(const Program& program, const BlockProgram& compiled, const Binding& binding,
            Threads& threads);

}  // namespace forebay::compute::host
