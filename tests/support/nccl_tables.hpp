// nccl_tables.hpp — recorded collectives of NCCL beside what the simulator says they take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/nccl/nccl_times.hpp"

namespace ukemi::test {

// `fitted`: a number of the model or of a link was chosen for its rows. `predicted`: none was; the
// form of the model was chosen with most of them in sight.
struct NcclTable {
    struct Row {
        Bytes size;
        double seconds = 0;
    };
    std::string name;
    std::string machine;  // of machine_spec.hpp
    std::int32_t machines = 1;
    std::int32_t per_machine = 8;
    sim::NcclCollective collective = sim::NcclCollective::all_reduce;
    bool fitted = false;
    std::string source;
    std::vector<Row> rows;
    bool kept_aside = false;  // looked at only after the numbers had been chosen
};

// Of the data sets in a folder (vtrain_nccl, nccl_bench), as far as they are there, sizes that are
// powers of two. Runs that bypass the network's own way (sockets on Slingshot, plugins left out)
// are none of ours.
std::vector<NcclTable> recorded_nccl_tables(const std::filesystem::path& data);
// Those that were published where no data set has them; of these the all-reduces, which figures
// show. A time that the same log has in place stands where a row was disturbed: 2 x 8 H200 by RoCE
// at 16 MiB, 4 x 8 H100, another, to 4, at 16 and 64 MiB.
std::vector<NcclTable> published_nccl_tables();
std::vector<NcclTable> figure_nccl_tables();

// Mean errors of one table from a size on.
struct NcclErrors {
    double ours = 0;
    double worst = 0;
    double own = 0;    // NCCL's own prices
    double naive = 0;  // a ring at the line rate, no latency
    std::size_t rows = 0;
};
NcclErrors errors_of(const NcclTable& table, Bytes from, const sim::NcclNumbers& numbers = {});

sim::NcclPlace place_of(const NcclTable& table);

}  // namespace ukemi::test
