// nccl_fit.hpp — the share of a line rate that a log of nccl-tests shows.
#pragma once

#include <span>

#include "sim/cluster/nccl/nccl_times.hpp"

namespace ukemi::sim {

struct NcclRow {
    Bytes size;
    double seconds = 0;  // recorded, above 0
};

struct NcclFit {
    double share = 1;       // of the links' line rate
    double off = 0;         // mean error of the rows with it
    bool is_least = false;  // greater ones fit as well: something else held the rows up
};

// Of the links inside machines or of those between them, with which the place's all-reduces come
// nearest to the rows: the least sum of squared logarithms of errors over shares from 0.01 to 1, to
// three digits. Where all greater shares are as good, the place's own, if it is one of them. One
// row at least.
NcclFit fit_share(NcclPlace place, bool between, std::span<const NcclRow> rows);

}  // namespace ukemi::sim
