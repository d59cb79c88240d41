// nccl_words.cpp — collects a job's groups and what they send.
#include "scenarios/reader/nccl_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "scenarios/reader/read_step_codec.hpp"
#include "sim/step/codec_plan.hpp"
#include "sim/step/nccl_collective.hpp"

namespace ukemi::scenarios {

namespace {

using sim::ExchangeKind;
using sim::NcclCollective;

struct NcclSends {
    std::string what;  // "in tensor groups: "; empty: what gradients' sums are
    std::vector<sim::DeviceId> group;
    NcclCollective collective = NcclCollective::all_reduce;
    std::vector<sim::GradientBucket> messages = {};
};

void add_message(NcclSends& sends, Bytes size) {
    if (size > Bytes{}) sends.messages.push_back({"", size});
}

// Of the first pipeline rank.
std::vector<NcclSends> sends_of_layout(const sim::StepJob& job) {
    const sim::LayoutWork& work = *job.layout;
    const std::vector<sim::DeviceId> holders = work.adders_of(job.workers, 0, 0);
    const auto cell = job.workers.begin() + work.degrees.tensor;
    NcclSends sums{"", holders};
    NcclSends scatters{"to scatter: ", holders, NcclCollective::reduce_scatter};
    NcclSends gathers{"to gather: ", holders, NcclCollective::all_gather};
    NcclSends experts{"of experts: ", {}};
    NcclSends tensor{"in tensor groups: ", {job.workers.begin(), cell}};
    if (work.has_expert_sets()) experts.group = work.experts_adders(job.workers, 0, 0).front();
    const sim::PipelineSpec spec = work.pipeline(1);
    for (std::int32_t stage = 0; stage < spec.stages(); ++stage) {
        if (spec.worker_of(stage) != 0) continue;
        const sim::StageWork& own = work.stages[static_cast<std::size_t>(stage)];
        for (const sim::GradientBucket& bucket : own.buckets) {
            if (bucket.legs.empty()) add_message(sums, bucket.bytes);
            for (const sim::BucketLeg& leg : bucket.legs) {
                if (leg.lane == sim::scatter_lane) add_message(scatters, leg.bytes);
                if (leg.lane == sim::gather_lane) add_message(gathers, leg.bytes);
                if (leg.lane == sim::all_reduce_lane) add_message(sums, leg.bytes);
            }
        }
        for (const sim::GradientBucket& bucket : own.expert_buckets) {
            if (bucket.legs.empty()) add_message(experts, bucket.bytes);
        }
        for (const auto& blocks : {own.forward, own.backward}) {
            for (const sim::ModelBlock& block : blocks) {
                add_message(gathers, block.gathered.of_all);
                if (block.exchange == ExchangeKind::tensor_all_reduce) {
                    add_message(tensor, block.bytes);
                }
                if (block.exchange == ExchangeKind::all_reduce) add_message(sums, block.bytes);
            }
        }
    }
    if (!work.updated_parts.empty()) add_message(gathers, work.updated_parts.front().of_all);
    return {sums, scatters, gathers, experts, tensor};
}

// Of the first rank.
std::vector<NcclSends> sends_of_workload(const sim::StepJob& job) {
    const sim::Workload& workload = *job.workload;
    std::map<std::pair<std::uint32_t, ExchangeKind>, std::vector<Bytes>> sizes;
    for (const sim::WorkNode& node : workload.programs[workload.program_of.front()]) {
        if (node.kind != sim::WorkKind::collective) continue;
        sizes[{node.family, node.exchange}].push_back(node.bytes);
    }
    std::vector<NcclSends> all;
    for (const auto& [kind, messages] : sizes) {
        const auto& [family, exchange] = kind;
        NcclSends sends;
        if (exchange == ExchangeKind::all_gather) {
            sends = {"to gather: ", {}, NcclCollective::all_gather};
        } else if (exchange == ExchangeKind::reduce_scatter) {
            sends = {"to scatter: ", {}, NcclCollective::reduce_scatter};
        } else if (exchange != ExchangeKind::all_reduce) {
            continue;
        }
        const std::vector<std::int32_t>& groups = workload.families[family];
        for (std::size_t rank = 0; rank < groups.size(); ++rank) {
            if (groups[rank] == groups.front()) sends.group.push_back(job.workers[rank]);
        }
        if (sends.group.size() < groups.size()) {
            sends.what = fmt::format("among {} ranks, {}", sends.group.size(), sends.what);
        }
        for (const Bytes size : messages) add_message(sends, size);
        all.push_back(std::move(sends));
    }
    return all;
}

std::vector<NcclSends> sends_of(const sim::StepJob& job) {
    if (job.workload) return sends_of_workload(job);
    if (job.layout) return sends_of_layout(job);
    return {
        {"", job.workers, NcclCollective::all_reduce, parts_on(job, sim::all_reduce_lane)},
        {"to gather: ", job.workers, NcclCollective::all_gather, parts_on(job, sim::gather_lane)}};
}

}  // namespace

std::string nccl_words(const sim::Topology& topology, const sim::StepJob& job,
                       std::string_view where) {
    sim::Routes routes(topology);
    std::string picked;
    std::string reaches;
    for (const NcclSends& sends : sends_of(job)) {
        if (sends.messages.empty() || sends.group.size() < 2) continue;
        const bool is_known =
            job.nccl_place != nullptr && std::ranges::equal(job.nccl_place->workers, sends.group);
        sim::NcclPlace place = is_known ? job.nccl_place->place
                                        : sim::nccl_place(topology, routes, sends.group, where);
        place.ring_only = job.nccl_ring_only;
        picked += fmt::format("{}{}{}", picked.empty() ? "" : "; ", sends.what,
                              sim::words_of(place, sends.collective, sends.messages));
        if (reaches.find(place.reach) != std::string::npos) continue;
        // What one kind of group reaches may be the begin of what another one does.
        if (place.reach.find(reaches) != std::string::npos) reaches.clear();
        reaches += (reaches.empty() ? "" : ", ") + place.reach;
    }
    return picked.empty() ? "" : picked + "; " + reaches;
}

}  // namespace ukemi::scenarios
