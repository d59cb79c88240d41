// workload_player.cpp — what is ready, what is on its way, and who waits for it.
#include "sim/step/workload_player.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/gradient_lanes.hpp"

namespace ukemi::sim {
namespace {

// Tokens: what, and of which rank and node, group, or message and channel.
enum class WorkToken : std::uint8_t { computed, alone, collective, message };
constexpr int work_kind_bits = 60;
constexpr int node_bits = 32;
constexpr int rank_bits = work_kind_bits - node_bits;
std::uint64_t work_token(WorkToken kind, std::uint64_t rank, std::uint64_t node) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << work_kind_bits | rank << node_bits |
           node;
}

// A barrier, and a message of nothing, take the latencies of one byte.
Bytes sent_bytes(Bytes said) { return std::max(said, Bytes::of(1)); }

}  // namespace

WorkloadPlayer::WorkloadPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : StepPlayer(host, job, options), workload_(*job.workload), ranks_(job.workers.size()) {
    INVARIANT(workload_.program_of.size() == ranks_.size());
    for (const std::vector<WorkNode>& nodes : workload_.programs) {
        Program& program = programs_.emplace_back();
        program.nodes = &nodes;
        program.next.resize(nodes.size());
        for (NodeId id = 0; id < nodes.size(); ++id) {
            for (const std::uint32_t before : nodes[id].after) program.next[before].push_back(id);
        }
    }
    for (const std::vector<std::int32_t>& family : workload_.families) {
        std::map<std::int32_t, std::int32_t> numbers;  // of the family's groups: ours
        std::vector<std::int32_t>& ours = group_of_.emplace_back();
        std::vector<std::size_t>& place_in = place_in_.emplace_back();
        for (std::size_t rank = 0; rank < family.size(); ++rank) {
            ours.push_back(-1);
            place_in.push_back(0);
            if (family[rank] < 0) continue;
            const auto [found, is_new] =
                numbers.try_emplace(family[rank], static_cast<std::int32_t>(groups_.size()));
            if (is_new) groups_.emplace_back();
            Group& group = groups_[static_cast<std::size_t>(found->second)];
            ours.back() = found->second;
            place_in.back() = group.ranks.size();
            group.ranks.push_back(static_cast<std::int32_t>(rank));
        }
    }
    result().collective = workload_.source;
}

const WorkNode& WorkloadPlayer::node(std::size_t rank, NodeId id) const {
    return (*programs_[workload_.program_of[rank]].nodes)[id];
}

void WorkloadPlayer::play_step(Instant begin) {
    sums_ = {};
    left_ = 0;
    for (Group& group : groups_) {
        group.come.assign(group.ranks.size(), {});
        group.begun = 0;
    }
    crossings_.clear();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const std::vector<WorkNode>& nodes = *programs_[workload_.program_of[rank]].nodes;
        ranks_[rank].waits.clear();
        for (const WorkNode& one : nodes) {
            ranks_[rank].waits.push_back(static_cast<std::uint32_t>(one.after.size()));
        }
        ranks_[rank].left = nodes.size();
        ranks_[rank].since = begin;
        left_ += nodes.size();
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const std::size_t count = ranks_[rank].waits.size();
        for (NodeId id = 0; id < count; ++id) {
            if (node(rank, id).after.empty()) come_to(rank, id, begin);
        }
    }
    go_on(begin);
}

// All that it waits for is over.
void WorkloadPlayer::come_to(std::size_t rank, NodeId id, Instant now) {
    const WorkNode& one = node(rank, id);
    const auto self = static_cast<std::int32_t>(rank);
    switch (one.kind) {
        case WorkKind::compute:
        case WorkKind::host: {
            const bool gpu = one.kind == WorkKind::compute;
            (gpu ? ranks_[rank].gpu : ranks_[rank].cpu).ready.push(id);
            return compute_next(rank, gpu, now);
        }
        case WorkKind::collective: return join(rank, id, now);
        case WorkKind::send: {
            const Channel channel{self, one.peer, one.tag};
            const auto [number, is_new] =
                channel_numbers_.try_emplace(channel, static_cast<std::uint32_t>(channels_.size()));
            if (is_new) channels_.push_back(channel);
            Crossing& crossing = crossings_[channel];
            const std::size_t message = crossing.sent.size();
            INVARIANT(message >> rank_bits == 0);
            crossing.sent.push_back(id);
            crossing.there.push_back(false);
            const auto way = ways_.find({self, one.peer});
            const std::vector<DeviceId> ends = {job().workers[rank],
                                                job().workers[static_cast<std::size_t>(one.peer)]};
            const PlacedCollective& placed =
                way != ways_.end()
                    ? way->second
                    : ways_
                          .emplace(std::pair(self, one.peer),
                                   PlacedCollective(host().network(), {"transfer", 2, {{{{0, 1}}}}},
                                                    ends, sent_by(job())))
                          .first->second;
            count(rank, now);
            ++ranks_[rank].on_the_way;
            ++under_way_;
            host().send(*this, placed, sent_bytes(one.bytes), now + job().launch.overhead,
                        work_token(WorkToken::message, message, number->second));
            return;
        }
        case WorkKind::receive: {
            const Channel channel{one.peer, self, one.tag};
            count(rank, now);
            ++ranks_[rank].on_the_way;
            Crossing& crossing = crossings_[channel];
            const std::size_t message = crossing.received.size();
            crossing.received.push_back(id);
            if (message < crossing.there.size() && crossing.there[message]) take(rank, id, now);
            return;
        }
    }
}

void WorkloadPlayer::compute_next(std::size_t rank, bool gpu, Instant now) {
    Processor& processor = gpu ? ranks_[rank].gpu : ranks_[rank].cpu;
    if (processor.busy || processor.ready.empty()) return;
    count(rank, now);
    const NodeId id = processor.ready.top();
    processor.ready.pop();
    processor.busy = true;
    ++under_way_;
    host().wake(*this, now + node(rank, id).time, work_token(WorkToken::computed, rank, id));
}

void WorkloadPlayer::join(std::size_t rank, NodeId id, Instant now) {
    const WorkNode& one = node(rank, id);
    const std::int32_t number = group_of_[one.family][rank];
    INVARIANT(number >= 0);
    Group& group = groups_[static_cast<std::size_t>(number)];
    count(rank, now);
    ++ranks_[rank].on_the_way;
    if (group.ranks.size() == 1) {
        ++under_way_;
        return host().wake(*this, now, work_token(WorkToken::alone, rank, id));
    }
    group.come[place_in_[one.family][rank]].push_back(id);
    begin_next(static_cast<std::uint32_t>(number), now);
}

// The next collective of a group, if all have come to it.
void WorkloadPlayer::begin_next(std::uint32_t number, Instant now) {
    Group& group = groups_[number];
    const auto there = [&](const std::vector<NodeId>& come) { return come.size() > group.begun; };
    if (group.busy || !std::ranges::all_of(group.come, there)) return;
    const WorkNode& first =
        node(static_cast<std::size_t>(group.ranks[0]), group.come[0][group.begun]);
    for (std::size_t i = 1; i < group.ranks.size(); ++i) {
        const WorkNode& other =
            node(static_cast<std::size_t>(group.ranks[i]), group.come[i][group.begun]);
        if (other.exchange == first.exchange && other.bytes == first.bytes) continue;
        const std::string differs =
            other.exchange == first.exchange
                ? fmt::format("{} bytes, found {}", first.bytes.raw(), other.bytes.raw())
                : "the same kind of collective, found another";
        throw InputError(
            fmt::format("job {}", name()), "",
            fmt::format("rank {} comes to \"{}\" where rank {} comes to \"{}\": "
                        "expected {}",
                        group.ranks[i], other.name, group.ranks[0], first.name, differs));
    }
    ++group.begun;
    group.busy = true;
    ++under_way_;
    const PlacedCollective& by = placed(group, first.exchange);
    const Bytes bytes = exchange_bytes(first.exchange, by, group.ranks.size(), first.bytes);
    host().send(*this, by, sent_bytes(bytes), now + job().launch.overhead,
                work_token(WorkToken::collective, 0, number));
}

PlacedCollective& WorkloadPlayer::placed(Group& group, ExchangeKind kind) {
    const auto found = group.placed.find(kind);
    if (found != group.placed.end()) return found->second;
    std::vector<DeviceId> workers;
    for (const std::int32_t rank : group.ranks) {
        workers.push_back(job().workers[static_cast<std::size_t>(rank)]);
    }
    ClusterNetwork& network = host().network();
    const bool sum = kind == ExchangeKind::all_reduce;
    const std::int32_t each = workers_per_machine(network.topology(), workers);
    const bool grid = sum && !job().axes.empty() && workers.size() == ranks_.size();
    const auto make = [&] {
        if (grid) return PlacedCollective(network, job().axes, workers);
        if (sum) return placed_all_reduce(network, job(), workers, each);
        if (kind == ExchangeKind::broadcast || kind == ExchangeKind::all_to_all) {
            return placed_exchange(network, kind, job(), workers);
        }
        return placed_parts(network, kind, job(), workers);
    };
    PlacedCollective made = make();
    note_links(made.links());
    return group.placed.emplace(kind, std::move(made)).first->second;
}

void WorkloadPlayer::woken(std::uint64_t token, Instant now) {
    const std::size_t rank = token >> node_bits & ((1U << rank_bits) - 1);
    const auto id = static_cast<NodeId>(token);
    --under_way_;
    count(rank, now);
    if (static_cast<WorkToken>(token >> work_kind_bits) == WorkToken::alone) {
        --ranks_[rank].on_the_way;
        over(rank, id, now);
    } else {
        const bool gpu = node(rank, id).kind == WorkKind::compute;
        (gpu ? ranks_[rank].gpu : ranks_[rank].cpu).busy = false;
        over(rank, id, now);
        compute_next(rank, gpu, now);
    }
    go_on(now);
}

void WorkloadPlayer::arrived(std::uint64_t token, Instant now) {
    --under_way_;
    const std::uint32_t number = static_cast<std::uint32_t>(token);
    if (static_cast<WorkToken>(token >> work_kind_bits) == WorkToken::message) {
        const Channel channel = channels_[number];
        const std::size_t message = token >> node_bits & ((1U << rank_bits) - 1);
        Crossing& crossing = crossings_[channel];
        crossing.there[message] = true;
        const auto from = static_cast<std::size_t>(std::get<0>(channel));
        const auto to = static_cast<std::size_t>(std::get<1>(channel));
        // Who only asks when the sender has gone on takes it there and then.
        const bool is_asked_for = message < crossing.received.size();
        count(from, now);
        --ranks_[from].on_the_way;
        over(from, crossing.sent[message], now);
        if (is_asked_for) take(to, crossing.received[message], now);
        return go_on(now);
    }
    Group& group = groups_[number];
    group.busy = false;
    const std::size_t place = group.begun - 1;
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
        const auto rank = static_cast<std::size_t>(group.ranks[i]);
        count(rank, now);
        --ranks_[rank].on_the_way;
        over(rank, group.come[i][place], now);
    }
    begin_next(number, now);
    go_on(now);
}

// A message that has arrived and was asked for.
void WorkloadPlayer::take(std::size_t rank, NodeId received, Instant now) {
    count(rank, now);
    --ranks_[rank].on_the_way;
    over(rank, received, now);
}

void WorkloadPlayer::over(std::size_t rank, NodeId id, Instant now) {
    --left_;
    --ranks_[rank].left;
    for (const NodeId next : programs_[workload_.program_of[rank]].next[id]) {
        if (--ranks_[rank].waits[next] == 0) come_to(rank, next, now);
    }
}

void WorkloadPlayer::count(std::size_t rank, Instant now) {
    Rank& one = ranks_[rank];
    const bool busy = one.gpu.busy || one.cpu.busy;
    (busy ? sums_.compute : one.on_the_way > 0 ? sums_.sending : sums_.bubble) += now - one.since;
    if (record().detailed && busy && now > one.since) {
        record().spans.push_back({static_cast<std::int32_t>(rank), 1, "compute", one.since, now});
    }
    one.since = now;
}

void WorkloadPlayer::go_on(Instant now) {
    if (left_ == 0) {
        if (under_way_ > 0) return;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) count(rank, now);
        const Duration input = record().parts.input;
        record().parts = mean_parts(sums_, static_cast<std::int64_t>(ranks_.size()));
        record().parts.input = input;
        return finish_step(now);
    }
    if (under_way_ > 0) return;
    const auto stuck = std::ranges::find_if(ranks_, [](const Rank& one) { return one.left > 0; });
    const auto rank = static_cast<std::size_t>(stuck - ranks_.begin());
    throw InputError(fmt::format("job {}", name()), "",
                     fmt::format("rank {} waits for ever: {} of its {} nodes wait for each other, "
                                 "or for ranks that do not come",
                                 rank, stuck->left, stuck->waits.size()));
}

}  // namespace ukemi::sim
