// straggler_rule.hpp — who is too slow for the others: a pure rule.
//
// Or, Zhang, Freedman (MLSys'20), as in the authors' engine: a worker's throughput as a share of
// the workers' median, averaged exponentially; below a threshold it is a straggler. The master,
// which leads the group, never is.
#pragma once

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

}  // namespace ukemi::policies
