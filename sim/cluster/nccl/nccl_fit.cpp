// nccl_fit.cpp — all shares of three digits are tried: errors have no slope to follow where latency
// decides.
#include "sim/cluster/nccl/nccl_fit.hpp"

#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

struct Errors {
    double squares = 0;  // of logarithms
    double off = 0;      // mean
};

}  // namespace

NcclFit fit_share(NcclPlace place, bool between, std::span<const NcclRow> rows) {
    INVARIANT(!rows.empty());
    double& share = between ? place.between_share : place.inside_share;
    const double known = share;
    const auto count = static_cast<double>(rows.size());
    const auto errors_with = [&](double tried) {
        share = tried;
        Errors errors;
        for (const NcclRow& row : rows) {
            const double seconds = nccl_seconds(place, nccl_choice(place, row.size), row.size);
            const double error = exact::log(seconds / row.seconds);
            errors.squares += error * error;
            errors.off += std::abs(seconds / row.seconds - 1) / count;
        }
        return errors;
    };
    Errors least{std::numeric_limits<double>::infinity()};
    NcclFit best;
    for (int thousandths = 10; thousandths <= 1000; ++thousandths) {
        const double tried = thousandths / 1000.0;
        const Errors errors = errors_with(tried);
        if (errors.squares >= least.squares) continue;
        least = errors;
        best = {tried, errors.off};
    }
    // Two standard errors; and what time is counted in.
    const double as_good = least.squares * (1 + 4 / count) + 1e-9;
    best.is_least = best.share < 1 && errors_with(1).squares <= as_good;
    if (!best.is_least || known <= best.share) return best;
    return {known, errors_with(known).off, true};
}

}  // namespace ukemi::sim
