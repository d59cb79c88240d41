// clustered_summary.hpp — means of values that come in clusters: values of one cluster have
// something in common (a trace, a stretch of time), and only clusters are independent.
#pragma once

#include <cstddef>
#include <span>

#include "base/statistics.hpp"

namespace ukemi {

struct ClusterValue {
    std::size_t cluster = 0;  // any number; equal numbers are one cluster
    double value = 0;
};

// As summarise() says of the values, with the interval of the mean over the clusters. Every value
// weighs the same. With equally many values a cluster it is Student's interval over the clusters'
// means. With other weights w the variance is the sum of w² r² / (1 − 2w + Σw²), r a cluster's mean
// less the mean of all, which is exact where clusters' means vary alike; its degrees of freedom are
// Satterthwaite's (Bell & McCaffrey 2002, Survey Methodology 28, for the mean). One cluster: the
// interval is the mean.
Summary summarise_clusters(std::span<const ClusterValue> values);

}  // namespace ukemi
