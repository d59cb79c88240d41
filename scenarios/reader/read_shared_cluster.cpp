// read_shared_cluster.cpp — the machines that jobs share: how many, what they cost, and how long
// they stay.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/plain_text.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t machines_most = 100'000;

sim::MachineGroup read_group(ConfigReader& section) {
    sim::MachineGroup group;
    group.machines = static_cast<std::int32_t>(section.integer("machines", 1, machines_most, 1));
    group.gpus_per_machine =
        static_cast<std::int32_t>(section.integer("gpus_per_machine", 1, 1'000));
    return group;
}

// A price of their own, or a spot market that gives and takes them.
sim::GroupMarket read_cost(ConfigReader& section, const std::filesystem::path& file,
                           const sim::MachineGroup& group, std::uint64_t seed) {
    sim::GroupMarket market;
    if (section.has("market")) {
        market = read_group_market(section.object("market"), file, seed, group.machines);
    }
    if (section.has("price")) {
        constexpr Price most = Price::of(1'000'000'000'000);  // 1000 USD/h
        const Price price = section.price("price");
        if (price > most) section.fail("price", "expected at most 1000 USD/h");
        if (market.launchable) {
            section.fail("price", "expected either \"price\" or a \"market\", which has prices");
        }
        market.price = {{{Instant{}, price}}, Instant{}};
    }
    static constexpr std::array<std::string_view, 2> times{"always", "in_use"};
    market.paid_in_use = section.one_of("paid", times, times[0]) == times[1];
    if (market.paid_in_use && market.price.steps.empty()) {
        section.fail("paid", "expected a \"price\" or a \"market\" beside it");
    }
    return market;
}

void read_one(ConfigReader& section, const std::filesystem::path& file, GroupKeys keys,
              sim::SharedCluster& cluster) {
    cluster.groups.back() = read_group(section);
    if (keys == GroupKeys::with_markets) {
        cluster.markets.push_back(read_cost(section, file, cluster.groups.back(), cluster.seed));
    }
}

}  // namespace

void read_shared_cluster(ConfigReader& root, const std::filesystem::path& file, GroupKeys keys,
                         sim::SharedCluster& cluster) {
    cluster.groups.clear();
    if (root.is_object("cluster")) {
        ConfigReader section = root.object("cluster");
        cluster.groups.emplace_back();
        read_one(section, file, keys, cluster);
        section.finish();
        return;
    }
    for (ConfigReader& section : root.objects("cluster")) {
        cluster.groups.emplace_back();
        read_one(section, file, keys, cluster);
        const std::string type = section.text("gpu_type");
        if (type.empty()) section.fail("gpu_type", "expected a name, found \"\"");
        if (std::ranges::count(cluster.groups, type, &sim::MachineGroup::gpu_type) > 0) {
            section.fail("gpu_type", fmt::format("{} stands there twice", ukemi::quoted(type)));
        }
        cluster.groups.back().gpu_type = type;
        section.finish();
    }
    if (cluster.groups.empty()) root.fail("cluster", "expected at least one group of machines");
}

}  // namespace ukemi::scenarios
