// topology_by_size.cpp — the collective that suits so many workers, as written down.
//
// KungFu's AUTO strategy (Mai et al., OSDI'20; srcs/go/plan/topology.go): a star on one host, where
// every message is one hop; beyond that a binary tree over the hosts with a star in each, so that
// no machine's link carries everybody's gradients. A worker here is a machine, so the table goes by
// machines.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/size/size_policy.hpp"

namespace ukemi::policies {

namespace {

struct FromSize {
    std::int32_t workers = 1;  // and more, up to the next row
    Collective collective = Collective::automatic;
};

class TopologyBySize final : public SizePolicy {
public:
    explicit TopologyBySize(std::vector<FromSize> rows) : rows_(std::move(rows)) {}
    std::string_view name() const override { return "topology_by_size"; }
    KnobSet knobs() const override { return {Knob::collective}; }

private:
    Decision for_workers(const PolicyView& view, std::int32_t workers) const override {
        const auto after = std::ranges::upper_bound(rows_, workers, {}, &FromSize::workers);
        if (after == rows_.begin()) return {};  // fewer than anybody wrote down
        const FromSize& row = *(after - 1);
        if (row.collective == view.plan.collective) return {};
        Decision decision;
        decision.collective = row.collective;
        decision.reason = "the collective for this many workers";
        return decision;
    }

    std::vector<FromSize> rows_;  // increasing workers
};

}  // namespace

// "sizes": {"1": "star", "2": "binary_tree_star"}
std::unique_ptr<Policy> make_topology_by_size(ConfigReader& parameters) {
    std::vector<FromSize> rows;
    if (!parameters.has("sizes")) {
        rows = {{1, Collective::star}, {2, Collective::binary_tree_star}};
        return std::make_unique<TopologyBySize>(std::move(rows));
    }
    ConfigReader table = parameters.object("sizes");
    for (const std::string& key : table.keys()) {
        FromSize row;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), row.workers);
        const bool whole = error == std::errc{} && end == key.data() + key.size();
        if (!whole || row.workers < 1 || key.front() == '0') {
            table.fail("", fmt::format("expected numbers of workers as keys, such as \"8\", "
                                       "found \"{}\"",
                                       key));
        }
        const std::string name = table.one_of(key, collective_names());
        const auto place = std::ranges::find(collective_names(), name);
        row.collective = static_cast<Collective>(place - collective_names().begin());
        rows.push_back(row);
    }
    if (rows.empty()) parameters.fail("sizes", "expected a collective, such as {\"1\": \"star\"}");
    std::ranges::sort(rows, {}, &FromSize::workers);
    table.finish();
    return std::make_unique<TopologyBySize>(std::move(rows));
}

}  // namespace ukemi::policies
