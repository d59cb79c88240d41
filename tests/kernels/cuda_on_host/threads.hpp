// threads.hpp — a grid of device threads on one host thread: every thread of a block is a stack of
// its own that gives way where it has to wait, at a barrier of its block or of its warp.
//
// Blocks run one after the other in an order that differs from launch to launch, and threads of a
// block in one that differs from block to block: a result that depends on either shows as a
// difference from the CPU's. What a kernel may not do
// ends the program with a line that says what it was: a barrier that some threads pass and others
// end at another one, more threads than a block may have.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <functional>

namespace ukemi::on_host {

struct Place {
    uint3 thread;
    uint3 block;
    dim3 grid;
    dim3 threads;
    std::uint64_t block_number = 0;  // over all launches, from 1
};
// Of the device thread that runs now. Kernels run one at a time.
extern Place here;

void run_grid(dim3 grid, dim3 threads, const std::function<void()>& thread);

// In a device thread.
void meet_block();               // __syncthreads
void meet_warp();                // all threads of the warp that have not ended
void meet_lanes(unsigned mask);  // these of the warp, all of which call it
// Threads of a warp need not go together: in some blocks each goes alone, in others all go on
// together that come here before a barrier of theirs opens. As a mask.
unsigned lanes_here();
// One word for each thread of this warp, which the others see after meet_warp.
std::uint64_t* words_of_warp();
unsigned lane();
unsigned warp_lanes();  // as a mask: those that have not ended

}  // namespace ukemi::on_host
