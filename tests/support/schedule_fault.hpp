// schedule_fault.hpp — what a schedule does wrong, by following every rank's contribution.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/schedule.hpp"

namespace ukemi::test {

enum class Operation : std::uint8_t {
    all_reduce,      // every rank ends with the sum of all, each once
    reduce_scatter,  // rank r ends with the sum of chunk r, of as many chunks as ranks
    all_gather,      // every rank ends with chunk r as rank r had it
    broadcast,       // every rank ends with what rank 0 had
    all_to_all,      // rank j ends with chunk i × ranks + j as rank i had it
};

// The first thing that is wrong with a schedule taken as `operation` (a rank that does not end with
// what it should; a chunk or rank out of range; a step before an earlier one; a rank that sends in
// a step what it receives in that step), or empty.
std::string schedule_fault(const kernels::Schedule& schedule, Operation operation);

}  // namespace ukemi::test
