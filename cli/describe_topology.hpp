// describe_topology.hpp — what a machine or a cluster is made of, in words and as a picture.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/output_folder.hpp"

namespace ukemi::cli {

// A preset or a file (sim/cluster/cluster_file.hpp); a preset `machines` times. Prints what is in
// it and, of one machine with several GPUs, its rings; draws it into `out` where that is not null.
void describe_topology(const std::string& name_or_file, std::uint32_t machines,
                       analysis::OutputFolder* out, const plots::FigureOptions& options);

}  // namespace ukemi::cli
