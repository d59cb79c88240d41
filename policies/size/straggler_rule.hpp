// straggler_rule.hpp — who is too slow for the others, and when it may go: pure rules.
//
// Or, Zhang, Freedman (MLSys'20), as in the authors' engine: a worker's throughput as a share of
// the workers' median, averaged exponentially; below a threshold it is a straggler. The master,
// which leads the group, never is. A replacement is started first; the straggler trains on until it
// is there.
//
// StragglerDetector is what replace_stragglers goes by. ReplaceFirst is for a caller that owns the
// machines and is no World: a World keeps that order by itself.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/observation.hpp"

namespace ukemi::policies {

class StragglerDetector {
public:
    StragglerDetector(double new_weight = 0.1, double threshold = 0.8);

    // The workers of one step, all with the same share of its batch. Those whose computing was not
    // measured (zero) are left out; a worker that is not shown is forgotten.
    void see(std::span<const WorkerView> workers);
    // In ascending order.
    std::vector<InstanceId> stragglers(InstanceId master) const;

private:
    double new_weight_;
    double threshold_;
    std::map<InstanceId, double> share_;  // of the median, averaged
};

class ReplaceFirst {
public:
    struct Orders {
        std::int32_t start = 0;            // replacements, now
        std::vector<InstanceId> take_out;  // at this step boundary
    };
    // `joined`: replacements that are ready to join since the last call. The slow leave in the
    // order in which they were found. A machine that is no longer in the group needs no
    // replacement: the one that was started for it is one too many, for the caller to use or to
    // give back.
    Orders next(std::span<const InstanceId> stragglers, std::span<const InstanceId> group,
                std::int32_t joined);

private:
    std::vector<InstanceId> waiting_;  // for their replacements
};

}  // namespace ukemi::policies
