// machine_collectives.cpp — all-reduces and the making of communicators, a thread a rank.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "kernels/machine_costs.hpp"
#include "kernels/socket_communicator.hpp"

namespace ukemi::kernels {

namespace {

using CollectiveClock = std::chrono::steady_clock;
using ConnectedPeers = std::vector<std::unique_ptr<SocketCommunicator>>;

constexpr int communicators = 10;  // made one after the other; the last does the collectives

[[noreturn]] void failed(const char* what) {
    throw std::runtime_error(fmt::format("machine costs: {} failed", what));
}

double since(CollectiveClock::time_point start) {
    return std::chrono::duration<double>(CollectiveClock::now() - start).count();
}

// Runs `work(rank)` on a thread for each rank, and throws what the first of them threw.
template <class Work>
void on_threads(int ranks, Work work) {
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                try {
                    work(static_cast<std::size_t>(rank));
                } catch (...) {
                    errors[static_cast<std::size_t>(rank)] = std::current_exception();
                }
            });
        }
    }
    for (const std::exception_ptr& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

ConnectedPeers connect_all(int ranks, int attempt) {
    ConnectedPeers peers;
    std::vector<std::vector<std::byte>> addresses;
    for (int rank = 0; rank < ranks; ++rank) {
        const Membership member{static_cast<std::uint64_t>(attempt), rank, ranks};
        peers.push_back(std::make_unique<SocketCommunicator>(
            GroupSettings{member, std::chrono::seconds(30), "machine costs"}));
        const auto address = peers.back()->address();
        addresses.emplace_back(address.begin(), address.end());
    }
    on_threads(ranks, [&](std::size_t rank) {
        if (peers[rank]->connect(addresses) != Outcome::ok) failed("connecting");
    });
    return peers;
}

// Small whole numbers, so that every sum is exact.
float given(std::size_t place, int rank) {
    return static_cast<float>(static_cast<int>(place % 64) + rank);
}
std::int64_t wrong_in(std::span<const float> sums, int ranks) {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const int right = static_cast<int>(i % 64) * ranks + ranks * (ranks - 1) / 2;
        wrong += sums[i] == static_cast<float>(right) ? 0 : 1;
    }
    return wrong;
}

MachinePoint reduce(SocketCommunicator& peers, const Schedule& schedule, std::int64_t bytes,
                    const MachineOptions& options) {
    MachinePoint point{bytes, 0, {}};
    const int rank = peers.membership().rank;
    std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
    std::vector<std::byte> met(static_cast<std::size_t>(options.ranks));
    const std::byte own{1};
    for (int i = 0; i < options.warm_up + options.operations; ++i) {
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = given(k, rank);
        if (peers.all_gather("meet", {&own, 1}, met) != Outcome::ok) failed("all_gather");
        const auto start = CollectiveClock::now();
        if (peers.all_reduce_sum("sum", schedule, values) != Outcome::ok) failed("all_reduce");
        const double s = since(start);
        if (i >= options.warm_up) point.times.s.push_back(s);
        point.wrong += wrong_in(values, options.ranks);
    }
    return point;
}

std::vector<MachineCurve> curves_of_rank(SocketCommunicator& peers, const MachineOptions& options) {
    std::vector<MachineCurve> curves;
    for (const policies::Collective algorithm :
         {policies::Collective::ring, policies::Collective::binary_tree,
          policies::Collective::halving_doubling}) {
        if (!schedule_refusal(algorithm, options.ranks).empty()) continue;
        const Schedule schedule = all_reduce_schedule(algorithm, options.ranks);
        const auto name = policies::collective_names()[static_cast<std::size_t>(algorithm)];
        MachineCurve curve{fmt::format("all_reduce {}", name), options.ranks, {}};
        for (std::int64_t bytes = 4; bytes <= options.bytes_most; bytes *= 16) {
            curve.points.push_back(reduce(peers, schedule, bytes, options));
        }
        curves.push_back(std::move(curve));
    }
    return curves;
}

// A collective has taken as long as its slowest rank.
void take_slower(const MachineCurve& other, MachineCurve& curve) {
    for (std::size_t p = 0; p < curve.points.size(); ++p) {
        curve.points[p].wrong += other.points[p].wrong;
        for (std::size_t i = 0; i < other.points[p].times.s.size(); ++i) {
            double& s = curve.points[p].times.s[i];
            s = std::max(s, other.points[p].times.s[i]);
        }
    }
}

}  // namespace

std::vector<MachineCurve> measure_collectives(const MachineOptions& options) {
    if (options.ranks < 2) return {};
    MachineCurve creation{"communicator", options.ranks, {{0, 0, {}}}};
    std::vector<std::vector<MachineCurve>> by_rank(static_cast<std::size_t>(options.ranks));
    for (int attempt = 0; attempt < communicators; ++attempt) {
        const auto start = CollectiveClock::now();
        ConnectedPeers peers = connect_all(options.ranks, attempt);
        creation.points.front().times.s.push_back(since(start));
        on_threads(options.ranks, [&](std::size_t rank) {
            if (attempt + 1 == communicators) by_rank[rank] = curves_of_rank(*peers[rank], options);
            peers[rank].reset();  // together: each takes leave of the others
        });
    }
    std::vector<MachineCurve> curves = std::move(by_rank.front());
    for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
        for (std::size_t c = 0; c < curves.size(); ++c) take_slower(by_rank[rank][c], curves[c]);
    }
    curves.push_back(std::move(creation));
    return curves;
}

}  // namespace ukemi::kernels
