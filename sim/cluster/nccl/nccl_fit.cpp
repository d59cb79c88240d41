// nccl_fit.cpp — all shares of three digits are tried: errors have no slope to follow where latency
// decides.
#include "sim/cluster/nccl/nccl_fit.hpp"

#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

NcclFit fit_share(NcclPlace place, bool between, std::span<const NcclRow> rows) {
    INVARIANT(!rows.empty());
    NcclFit best;
    double least = std::numeric_limits<double>::infinity();
    for (int thousandths = 10; thousandths <= 1000; ++thousandths) {
        const double share = thousandths / 1000.0;
        (between ? place.between_share : place.inside_share) = share;
        double squares = 0;
        double off = 0;
        for (const NcclRow& row : rows) {
            const double seconds = nccl_seconds(place, nccl_choice(place, row.size), row.size);
            const double error = exact::log(seconds / row.seconds);
            squares += error * error;
            off += std::abs(seconds / row.seconds - 1);
        }
        if (squares >= least) continue;
        least = squares;
        best = {share, off / static_cast<double>(rows.size())};
    }
    return best;
}

}  // namespace ukemi::sim
