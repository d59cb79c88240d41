// layout_bound.cpp — passes one after the other, and bytes at full rates.
#include "sim/step/layout_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "base/invariant.hpp"
#include "sim/cluster/nccl/nccl_times.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/step/codec_plan.hpp"

namespace ukemi::sim {
namespace {

// The network rounds to nanoseconds, so one less.
Duration at_least(double seconds) {
    return Duration::of(std::max<std::int64_t>(round_nearest(std::floor(seconds * 1e9)) - 1, 0));
}

// What links bring at most, bytes a second.
struct RatesIn {
    std::vector<double> device;   // by device: of all its links
    std::vector<double> machine;  // by machine: of links from without
};
RatesIn rates_into(const Topology& topology) {
    RatesIn rates;
    rates.device.resize(topology.devices().size());
    rates.machine.resize(topology.machines().size());
    for (const Link& link : topology.links()) {
        rates.device[static_cast<std::size_t>(link.to)] += link.bandwidth.raw();
        const MachineId into = topology.device(link.to).machine;
        if (into == no_machine || into == topology.device(link.from).machine) continue;
        rates.machine[static_cast<std::size_t>(into)] += link.bandwidth.raw();
    }
    return rates;
}

class LeastStep {
public:
    LeastStep(const Topology& topology, const StepJob& job)
        : topology_(topology),
          job_(job),
          work_(*job.layout),
          routes_(topology),
          rates_(rates_into(topology)),
          micro_batches_(static_cast<std::int32_t>(job.accumulation)),
          ends_(work_.stages.size() * static_cast<std::size_t>(2 * micro_batches_)) {
        for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
            lists_.push_back(pipeline_passes(work_.pipeline(micro_batches_), p));
        }
        done_.resize(lists_.size());
        free_at_.resize(lists_.size());
        launched_.resize(lists_.size());
        units_.assign(lists_.size(), {{Duration{}}, Duration{}});
        first_ready_.resize(lists_.size());
        times_.resize(3 * work_.stages.size());
    }

    Duration run() {
        if (work_.pipeline(micro_batches_).copies() > 1) return longest_computing();
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t p = 0; p < lists_.size(); ++p) {
                while (done_[p] < lists_[p].size() && play(p)) {
                    ++done_[p];
                    moved = true;
                }
            }
        }
        for (std::size_t p = 0; p < lists_.size(); ++p) INVARIANT(done_[p] == lists_[p].size());
        for (std::size_t p = 0; p < lists_.size(); ++p) {
            if (first_ready_[p]) end_ = std::max(end_, *first_ready_[p] + all_buckets(p));
        }
        return end_ + words() + longest_update() + updated_parts();
    }

private:
    // Of passes side by side no order is followed: what each worker computes, and what it receives
    // of its exchanges, which share its links.
    Duration longest_computing() {
        Duration longest;
        for (std::size_t p = 0; p < lists_.size(); ++p) {
            Duration all;
            Duration received;
            for (const PipelinePass& pass : lists_[p]) {
                double share = 0;
                const auto rank =
                    static_cast<std::size_t>(work_.rank(0, 0, static_cast<std::int32_t>(p)));
                for (const ModelBlock& block : work_.blocks_of(pass, work_.kind_of(rank))) {
                    share += block.share;
                }
                // Blocks are rounded to nanoseconds, each by itself.
                const auto blocks = static_cast<std::int64_t>(work_.blocks_of(pass).size());
                const Duration whole = at_least(share * to_seconds(job_.compute[rank]));
                all += std::max(whole - nanoseconds(blocks), Duration{});
                for (const ModelBlock& block : work_.blocks_of(pass)) {
                    if (job_.nccl || !block.exchange || block.bytes == Bytes{}) continue;
                    const Duration one = exchange(p, *block.exchange, block.bytes);
                    received += std::max(one - job_.launch.overhead, Duration{});
                }
            }
            longest = std::max({longest, all, received});
        }
        return longest + longest_update();
    }

    using End = std::optional<Duration>;
    End& end_of(const PipelinePass& pass, std::int32_t stage) {
        const auto row =
            (pass.forward ? std::size_t{0} : work_.stages.size()) + static_cast<std::size_t>(stage);
        return ends_[row * static_cast<std::size_t>(micro_batches_) +
                     static_cast<std::size_t>(pass.micro_batch)];
    }

    std::vector<DeviceId> tensor_group(std::size_t p) const {
        const auto first = work_.rank(0, 0, static_cast<std::int32_t>(p));
        const auto begin = job_.workers.begin() + first;
        return {begin, begin + work_.degrees.tensor};
    }
    std::vector<DeviceId> context_group(std::size_t p) const {
        std::vector<DeviceId> workers;
        for (std::int32_t c = 0; c < work_.context; ++c) {
            const std::int32_t rank =
                work_.rank(work_.degrees.tensor * c, 0, static_cast<std::int32_t>(p));
            workers.push_back(job_.workers[static_cast<std::size_t>(rank)]);
        }
        return workers;
    }
    std::vector<DeviceId> those_who_send(std::size_t p, ExchangeKind kind) const {
        if (kind == ExchangeKind::tensor_all_reduce || kind == ExchangeKind::tensor_gather ||
            kind == ExchangeKind::tensor_scatter) {
            return tensor_group(p);
        }
        if (is_of_context(kind)) return context_group(p);
        const auto stage_rank = static_cast<std::int32_t>(p);
        if (kind == ExchangeKind::token_all_to_all) {
            return work_.expert_groups(job_.workers, 0, stage_rank).front();
        }
        return work_.holders_of(job_.workers, 0, stage_rank);
    }

    // Whether the next pass of a pipeline rank could be played: what it needs is known.
    bool play(std::size_t p) {
        const PipelinePass& pass = lists_[p][done_[p]];
        const auto last = static_cast<std::int32_t>(work_.stages.size()) - 1;
        Duration now = free_at_[p];
        if (!pass.weights && pass.stage != (pass.forward ? 0 : last)) {
            const std::int32_t before = pass.stage + (pass.forward ? -1 : 1);
            const End sent = end_of(pass, before);
            if (!sent) return false;
            const std::int32_t cut = pass.forward ? before : pass.stage;
            const auto from = static_cast<std::size_t>(before % work_.degrees.pipeline);
            now = std::max(
                now,
                *sent + transfer(from, p, work_.stages[static_cast<std::size_t>(cut)].activations));
        }
        if (work_.degrees.pipeline > 1) launched_[p] = std::max(launched_[p], now);
        const StageWork& stage = work_.stages[static_cast<std::size_t>(pass.stage)];
        const std::vector<ModelBlock>& blocks = work_.blocks_of(pass);
        const std::vector<BlockTime>& times = times_of(p, pass, blocks);
        double before = -1;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const ModelBlock& block = blocks[i];
            if (i > 0 && !block.gathered.is_empty()) units_[p].begun.push_back(now);
            now = block_end(p, times[i], std::max(now, gathered(p, block)));
            if (gives_gradients(pass)) note_ready(p, stage, before, block.gradients_ready);
            before = block.gradients_ready;
        }
        free_at_[p] = now;
        if (!pass.weights) {
            units_[p].begun.push_back(now);
            end_of(pass, pass.stage) = now;
        }
        end_ = std::max(end_, now);
        return true;
    }

    // When the parameters of the unit that begins with the block are there (parameter_gathers.hpp).
    Duration gathered(std::size_t p, const ModelBlock& block) {
        if (block.gathered.is_empty()) return {};
        Units& units = units_[p];
        const std::size_t unit = units.begun.size() - 1;
        const auto ahead = static_cast<std::size_t>(work_.prefetch);
        const Duration asked = units.begun[unit - std::min(ahead, unit)];
        units.gathered = std::max(units.gathered, asked) + gather_time(p, block.gathered);
        return units.gathered;
    }

    // Of experts' parts, which go at the same time, nothing is reckoned.
    Duration gather_time(std::size_t p, const DividedPart& part) {
        if (part.of_all == Bytes{}) return {};
        return exchange(p, ExchangeKind::all_gather, part.of_all);
    }

    struct BlockTime {
        Duration compute;  // of the slowest of the cell
        Duration launch;
        bool host_waits = false;
        Duration exchange;
        std::optional<ExchangeKind> beside;  // it is exchanged while it computes
    };

    // Reckoned once: passes of all micro-batches have the same blocks.
    const std::vector<BlockTime>& times_of(std::size_t p, const PipelinePass& pass,
                                           const std::vector<ModelBlock>& blocks) {
        const std::size_t kind = pass.forward ? 0 : pass.weights ? 2 : 1;
        std::vector<BlockTime>& times = times_[3 * static_cast<std::size_t>(pass.stage) + kind];
        if (!times.empty()) return times;
        times.resize(blocks.size());
        for (std::int32_t t = 0; t < work_.cell(); ++t) {
            const auto rank =
                static_cast<std::size_t>(work_.rank(t, 0, static_cast<std::int32_t>(p)));
            const auto pace_ns = static_cast<double>(job_.compute[rank].raw());
            const std::vector<ModelBlock>& here = work_.blocks_of(pass, work_.kind_of(rank));
            for (std::size_t i = 0; i < here.size(); ++i) {
                const auto of_pass = [&](double share) {
                    return Duration::of(round_nearest(share * pace_ns));
                };
                times[i].compute = std::max(times[i].compute, of_pass(here[i].share));
                times[i].launch = std::max(times[i].launch, of_pass(here[i].launch_share));
            }
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const ModelBlock& block = blocks[i];
            BlockTime& time = times[i];
            time.host_waits = block.host_waits;
            if (block.exchange && is_beside(*block.exchange)) time.beside = *block.exchange;
            if (!block.exchange || (block.bytes == Bytes{} && !time.beside)) continue;
            const bool sums = *block.exchange == ExchangeKind::tensor_all_reduce ||
                              *block.exchange == ExchangeKind::all_reduce;
            if (job_.nccl && !sums && !time.beside) continue;  // of these nothing is reckoned
            time.exchange = exchange(p, *block.exchange, block.bytes);
        }
        return times;
    }

    // As LayoutPlayer::begin_block() has it, without stragglers.
    Duration block_end(std::size_t p, const BlockTime& time, Duration now) {
        if (time.host_waits) launched_[p] = std::max(launched_[p], now);
        launched_[p] += time.launch;
        const Duration begin = now;
        now = std::max(now + time.compute, launched_[p]);
        computed_ = now;
        if (!time.beside) return now + time.exchange;
        // The first part of a scatter, or the last one of what comes.
        const Duration last = Duration::of((now - begin).raw() / work_.parts(*time.beside));
        computed_ = std::max(now, begin + time.exchange + last);
        return computed_;
    }

    Duration exchange(std::size_t p, ExchangeKind kind, Bytes size) {
        Duration& least = exchanges_[{p, kind, size}];
        if (least > Duration{}) return least;
        const std::vector<DeviceId> workers = those_who_send(p, kind);
        if (workers.size() == 1) return {};
        least = job_.launch.overhead;
        const bool messages = kind == ExchangeKind::context_ring;
        if (job_.nccl && !messages) return least += nccl_time(workers, kind, size);
        return least += received(workers, kind, size);
    }

    bool gives_gradients(const PipelinePass& pass) const {
        const bool sends = work_.sends_every_pass || pass.micro_batch + 1 == micro_batches_;
        return work_.gives_gradients(pass) && sends;
    }

    // The block is computed: which buckets are ready, as LayoutPlayer::gradients_ready() has it.
    void note_ready(std::size_t p, const StageWork& stage, double before, double ready) {
        const auto becomes_ready = [&](const GradientBucket& bucket) {
            return bucket.ready <= ready + 1e-9 && bucket.ready > before + 1e-9;
        };
        if (stage.buckets.empty()) return;
        if (!first_ready_[p] && becomes_ready(stage.buckets.front())) first_ready_[p] = computed_;
        if (becomes_ready(stage.buckets.back())) {
            end_ = std::max(end_, computed_ + one_bucket(p, stage.buckets.back()));
        }
    }

    Duration one_bucket(std::size_t p, const GradientBucket& bucket) {
        if (bucket.legs.empty()) return exchange(p, ExchangeKind::all_reduce, bucket.bytes);
        if (bucket.legs.front().lane != scatter_lane) return {};
        return exchange(p, ExchangeKind::reduce_scatter, bucket.legs.front().bytes);
    }

    // What all buckets of a pipeline rank need of the same links, one after another or side by
    // side.
    Duration all_buckets(std::size_t p) {
        Duration all;
        if (job_.nccl && job_.launch.kind != LaunchKind::in_order) return all;
        const std::int64_t times = work_.sends_every_pass ? micro_batches_ : 1;
        for (std::size_t stage = p; stage < work_.stages.size(); stage += lists_.size()) {
            for (const GradientBucket& bucket : work_.stages[stage].buckets) {
                all += times * std::max(one_bucket(p, bucket) - job_.launch.overhead, Duration{});
            }
        }
        return all;
    }

    std::int64_t on_first_machine(const std::vector<DeviceId>& workers) const {
        const MachineId machine = topology_.device(workers.front()).machine;
        return std::ranges::count_if(
            workers, [&](DeviceId worker) { return topology_.device(worker).machine == machine; });
    }

    // Every worker, and the first one's machine for all of its workers together. Of an all-reduce,
    // whichever way it goes, everybody receives at least as much as the sum; in rings, what is sent
    // in them.
    Duration received(const std::vector<DeviceId>& workers, ExchangeKind kind, Bytes size) const {
        const auto ranks = static_cast<double>(workers.size());
        const auto here = static_cast<double>(on_first_machine(workers));
        const bool in_rings = kind == ExchangeKind::tensor_all_reduce ||
                              (kind == ExchangeKind::all_reduce && job_.axes.empty() &&
                               job_.collective == policies::Collective::ring &&
                               work_.exchange_collective == policies::Collective::ring);
        double each = in_rings ? 2 * (ranks - 1) / ranks : 1;
        double into_machine = here < ranks ? each : 0;
        if (kind == ExchangeKind::all_to_all || kind == ExchangeKind::token_all_to_all ||
            kind == ExchangeKind::context_all_to_all) {
            each = (ranks - 1) / ranks;
            into_machine = here * (ranks - here) / ranks;
        }
        if (kind == ExchangeKind::all_gather || kind == ExchangeKind::reduce_scatter ||
            kind == ExchangeKind::context_gather || kind == ExchangeKind::context_scatter ||
            is_beside(kind)) {
            each = ranks - 1;
            into_machine = ranks - here;
        }
        double slowest = rates_.device[static_cast<std::size_t>(workers.front())];
        for (const DeviceId worker : workers) {
            slowest = std::min(slowest, rates_.device[static_cast<std::size_t>(worker)]);
        }
        const auto whole = static_cast<double>(size.raw());
        const double all = into_machine * whole / rate_into_machine(workers.front());
        return at_least(std::max(each * whole / slowest, all));
    }

    double rate_into_machine(DeviceId worker) const {
        const auto machine = static_cast<std::size_t>(topology_.device(worker).machine);
        const double rate = rates_.machine[machine];
        return rate > 0 ? rate : std::numeric_limits<double>::infinity();
    }

    Duration nccl_time(const std::vector<DeviceId>& workers, ExchangeKind kind, Bytes size) {
        NcclCollective collective = NcclCollective::all_reduce;
        Bytes buffer = size;
        if (kind == ExchangeKind::all_gather || kind == ExchangeKind::reduce_scatter ||
            is_beside(kind)) {
            const bool scatters =
                kind == ExchangeKind::reduce_scatter || kind == ExchangeKind::tensor_scatter;
            buffer = static_cast<std::int64_t>(workers.size()) * size;
            collective = scatters ? NcclCollective::reduce_scatter : NcclCollective::all_gather;
        }
        NcclPlace place = nccl_place(topology_, routes_, workers, job_.name);
        place.ring_only = job_.nccl_ring_only;
        const NcclChoice choice = nccl_choice(place, buffer, collective);
        return at_least(nccl_seconds(place, choice, buffer, collective));
    }

    // From the first tensor rank to its peer, while the others send to theirs.
    Duration transfer(std::size_t from, std::size_t to, Bytes size) {
        if (from == to || size == Bytes{}) return {};
        const std::vector<DeviceId> senders = tensor_group(from);
        const std::vector<DeviceId> receivers = tensor_group(to);
        const DeviceId a = senders.front();
        const DeviceId b = receivers.front();
        const MachineId machine = topology_.device(b).machine;
        double together = 0;  // of those into this machine
        for (std::size_t t = 0; t < senders.size(); ++t) {
            const bool into = topology_.device(receivers[t]).machine == machine &&
                              topology_.device(senders[t]).machine != machine;
            together += into ? 1 : 0;
        }
        const auto whole = static_cast<double>(size.raw());
        // NCCL's may go by another GPU (ClusterNetwork::relay_of): what one receives is known.
        const bool relayed = job_.nccl && topology_.device(a).machine != machine &&
                             topology_.device(a).index != topology_.device(b).index;
        const double rate =
            relayed ? rates_.device[static_cast<std::size_t>(b)] : routes_.bandwidth(a, b).raw();
        const double longest = std::max(whole / rate, together * whole / rate_into_machine(b));
        const Duration start = job_.nccl ? seconds(nccl_message_start_s) : Duration{};
        return start + (relayed ? Duration{} : routes_.latency(a, b)) + at_least(longest);
    }

    // Of one of the pairs that add up the embedding, when all else has arrived.
    Duration words() {
        if (work_.words == Bytes{}) return {};
        const auto last = static_cast<std::size_t>(work_.rank(0, 0, work_.degrees.pipeline - 1));
        const std::vector<DeviceId> both = {job_.workers.front(), job_.workers[last]};
        constexpr auto kind = ExchangeKind::all_reduce;
        return job_.launch.overhead +
               (job_.nccl ? nccl_time(both, kind, work_.words) : received(both, kind, work_.words));
    }

    Duration updated_parts() {
        Duration longest;
        for (std::size_t p = 0; p < work_.updated_parts.size(); ++p) {
            longest = std::max(longest, gather_time(p, work_.updated_parts[p]));
        }
        return longest;
    }

    Duration longest_update() const {
        Duration longest;
        if (job_.update.empty() || work_.update_shares.empty()) return longest;
        for (std::int32_t p = 0; p < work_.degrees.pipeline; ++p) {
            const auto rank = static_cast<std::size_t>(work_.rank(0, 0, p));
            const double whole_ns = static_cast<double>(job_.update[rank].raw());
            const double share = work_.update_shares[static_cast<std::size_t>(p)];
            longest = std::max(longest, Duration::of(round_nearest(share * whole_ns)));
        }
        return longest;
    }

    struct Units {                    // of divided parameters, of a pipeline rank
        std::vector<Duration> begun;  // when the one before was over, the next one included
        Duration gathered;            // the last gather was over
    };

    const Topology& topology_;
    const StepJob& job_;
    const LayoutWork& work_;
    Routes routes_;
    RatesIn rates_;
    std::int32_t micro_batches_;
    std::vector<std::vector<PipelinePass>> lists_;  // by pipeline rank
    std::vector<std::size_t> done_;
    std::vector<Duration> free_at_;
    std::vector<Duration> launched_;
    std::vector<Units> units_;
    std::vector<std::vector<BlockTime>> times_;  // of blocks, by stage and kind of pass
    std::vector<End> first_ready_;               // of the buckets of a pipeline rank
    Duration computed_;                          // the newest block, before what it exchanges
    std::vector<End> ends_;  // of forward passes, then of backward ones, by stage and micro-batch
    std::map<std::tuple<std::size_t, ExchangeKind, Bytes>, Duration> exchanges_;
    Duration end_;
};

}  // namespace

Duration least_step(const Topology& topology, const StepJob& job) {
    INVARIANT(job.servers.empty());
    const Stragglers& stragglers = job.stragglers;
    if (stragglers.independent > 0 || stragglers.persistent > 0 || stragglers.machine > 0) {
        return {};
    }
    if (!job.layout) {
        return job.accumulation * std::ranges::max(job.compute) + job.longest_update();
    }
    return LeastStep(topology, job).run();
}

}  // namespace ukemi::sim
