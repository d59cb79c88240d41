// describe_topology.hpp — what a machine or a cluster is made of, in words and as a picture.
#pragma once

#include <cstdint>
#include <string>

namespace ukemi {

// A preset or a file (sim/cluster/cluster_file.hpp); a preset `machines` times. Prints what is in
// it and, of one machine with several GPUs, its rings; draws it where `out` is not empty.
void describe_topology(const std::string& name_or_file, std::uint32_t machines,
                       const std::string& out, bool pdf);

}  // namespace ukemi
