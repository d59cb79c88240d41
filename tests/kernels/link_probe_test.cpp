// link_probe_test.cpp — every two hosts meet once, nobody twice at a time, and what is measured is
// what the way takes.
#include "kernels/link_probe.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <thread>

#include "kernels/host_schedule.hpp"
#include "kernels/nccl/device_exchange.hpp"
#include "tests/kernels/training_ranks.hpp"
#include "tests/support/in_process.hpp"

namespace ukemi::kernels {

namespace {

// Ranks whose messages take a while on their way to another host, and long ones longer.
class DistantPeers final : public Communicator {
public:
    DistantPeers(Communicator& inner, std::vector<std::int32_t> hosts,
                 std::chrono::nanoseconds one_way, double bytes_per_second)
        : inner_(inner),
          hosts_(std::move(hosts)),
          one_way_(one_way),
          bytes_per_second_(bytes_per_second) {}
    Membership membership() const override { return inner_.membership(); }
    std::vector<std::int32_t> hosts() const override { return hosts_; }
    Outcome all_reduce(std::string_view name, const Schedule& schedule, Reduction reduction,
                       std::span<std::byte> elements) override {
        return inner_.all_reduce(name, schedule, reduction, elements);
    }
    Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                       std::span<std::byte> all) override {
        return inner_.all_gather(name, own, all);
    }
    Outcome broadcast(std::string_view name, std::span<std::byte> bytes, int root) override {
        return inner_.broadcast(name, bytes, root);
    }
    Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                     std::span<std::byte> in) override {
        const Outcome outcome = inner_.exchange(name, peer, out, in);
        const double s = static_cast<double>(out.size()) / bytes_per_second_;
        std::this_thread::sleep_for(one_way_ + std::chrono::duration<double>(s));
        return outcome;
    }
    void abort() override { inner_.abort(); }
    int suspect() const override { return inner_.suspect(); }

private:
    Communicator& inner_;
    std::vector<std::int32_t> hosts_;
    std::chrono::nanoseconds one_way_;
    double bytes_per_second_;
};

}  // namespace

TEST_CASE("link probe: every two hosts meet in one round, and nobody meets two in one",
          "[link_probe]") {
    CHECK(link_rounds(1) == 0);
    for (const std::int32_t hosts : {2, 3, 4, 5, 8, 9}) {
        CAPTURE(hosts);
        std::map<std::pair<std::int32_t, std::int32_t>, int> met;
        for (std::int32_t round = 0; round < link_rounds(hosts); ++round) {
            for (std::int32_t host = 0; host < hosts; ++host) {
                const auto other = met_in_round(host, hosts, round);
                if (!other) continue;
                CHECK(*other != host);
                CHECK(met_in_round(*other, hosts, round) == host);
                ++met[{std::min(host, *other), std::max(host, *other)}];
            }
        }
        CHECK(met.size() == static_cast<std::size_t>(hosts * (hosts - 1) / 2));
        CHECK(std::ranges::all_of(met, [](const auto& one) { return one.second == 2; }));
    }
}

TEST_CASE("link probe: steps say what is between the hosts, and train as without", "[link_probe]") {
    const DataSet data = small_data();
    const auto model = make_model({"softmax", {}}, data);
    constexpr int ranks = 5;
    const std::vector<std::int32_t> hosts{0, 0, 1, 2, 2};
    const policies::Plan plan = plan_of(40);
    const auto digest_with = [&](std::int64_t link_steps,
                                 std::map<std::pair<std::int32_t, std::int32_t>, LinkSpeed>& links,
                                 int& measured) {
        auto inner = test::in_process_communicators(ranks, std::chrono::seconds(20));
        std::vector<std::uint64_t> digests(ranks);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                const auto own = std::move(inner[static_cast<std::size_t>(rank)]);
                DistantPeers peers(*own, hosts, std::chrono::milliseconds(2), 50e6);
                StepSettings settings;
                settings.link_steps = link_steps;
                TrainingStep step(*model, data, peers, settings);
                Replica replica(model->initial_weights(11), {});
                for (std::int64_t i = 0; i < 12; ++i) {
                    const StepResult result = step.run(replica, plan, 77, i, i * 40, 0);
                    if (result.outcome != Outcome::ok) return;
                    for (const StepWord& word : result.report.words) {
                        if (rank != 0 || word.link_round_trip_ns == 0) continue;
                        ++measured;
                        links[{word.host, word.link_host}] = {word.link_round_trip_ns,
                                                              word.link_bytes_per_second};
                    }
                }
                digests[static_cast<std::size_t>(rank)] = replica.digest();
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK(std::ranges::count(digests, digests[0]) == ranks);
        return digests[0];
    };
    std::map<std::pair<std::int32_t, std::int32_t>, LinkSpeed> links;
    int measured = 0;
    const std::uint64_t plain = digest_with(0, links, measured);
    CHECK(links.empty());
    CHECK(digest_with(5, links, measured) == plain);
    CHECK(links.size() == 3);
    CHECK(measured == 3 * 2 + 2);  // steps 0–2, 5–7 and 10–11
    for (const auto& [ends, speed] : links) {
        CHECK(ends.first < ends.second);
        CHECK(speed.round_trip_ns >= 4'000'000);
        CHECK(speed.round_trip_ns < 40'000'000);
        CHECK(speed.bytes_per_second > 5e6);
        CHECK(speed.bytes_per_second < 60e6);
    }
}

TEST_CASE("device exchange: a group knows its hosts as its sockets do", "[link_probe][nccl]") {
    const std::vector<std::int32_t> hosts{0, 1};
    const auto inner = test::in_process_communicators(2, std::chrono::seconds(20));
    DistantPeers peers(*inner[0], hosts, {}, 1e9);
    const DeviceExchange exchange(peers, {}, {}, std::chrono::seconds(1));
    CHECK(exchange.hosts() == hosts);
}

TEST_CASE("host schedule: a tree of hosts goes by it, through the first rank of each",
          "[link_probe]") {
    const std::vector<std::int32_t> hosts{0, 1, 0, 2, 1, 3};
    const std::vector<std::int32_t> tree{0, 2, 0, 1};
    const Schedule schedule = schedule_on_hosts(policies::Collective::ring, 6, hosts, tree);
    CHECK(schedule.name == "tree_of_hosts");
    std::set<std::pair<std::int32_t, std::int32_t>> up;
    for (const Transfer& transfer : schedule.transfers) {
        if (transfer.kind == TransferKind::reduce) up.insert({transfer.from, transfer.to});
    }
    CHECK(up ==
          std::set<std::pair<std::int32_t, std::int32_t>>{{1, 3}, {3, 0}, {5, 1}, {2, 0}, {4, 1}});
    // One of another number of hosts is passed over.
    const std::vector<std::int32_t> old{0, 0, 0};
    CHECK(schedule_on_hosts(policies::Collective::ring, 6, hosts, old).name == "ring");
}

}  // namespace ukemi::kernels
