// workload_player.hpp — plays what a workload says, rank by rank.
//
// Of what is ready on a rank, the node that stands first computes first. Collectives begin when all
// of their group have come to them. A rank's time is computing, else exposed communication while
// something that it takes part in is on its way, else a bubble; the parts are means over the ranks.
#pragma once

#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/step/step_player.hpp"
#include "sim/step/workload.hpp"

namespace ukemi::sim {

class WorkloadPlayer final : public StepPlayer {
public:
    // The job has a workload of as many ranks as it has workers. InputError if a collective cannot
    // run, or if ranks wait for ever.
    WorkloadPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    using NodeId = std::uint32_t;
    struct Program {  // and who waits for each node
        const std::vector<WorkNode>* nodes = nullptr;
        std::vector<std::vector<NodeId>> next;
    };
    struct Processor {
        bool busy = false;
        std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    };
    struct Rank {
        std::vector<std::uint32_t> waits;  // by node
        std::size_t left = 0;
        Processor gpu;
        Processor cpu;
        int on_the_way = 0;
        Instant since;
    };
    struct Group {
        std::vector<std::int32_t> ranks;
        std::vector<std::vector<NodeId>>
            come;               // by rank of the group: to its collectives, in order
        std::size_t begun = 0;  // collectives
        bool busy = false;
        std::map<ExchangeKind, PlacedCollective> placed;
    };
    using Channel = std::tuple<std::int32_t, std::int32_t, std::int64_t>;  // from, to, tag
    // Messages of a channel: the k-th receive is of the k-th send, though a later one is there
    // before it.
    struct Crossing {
        std::vector<NodeId> sent;
        std::vector<bool> there;  // by message
        std::vector<NodeId> received;
    };

    void play_step(Instant begin) override;
    const WorkNode& node(std::size_t rank, NodeId id) const;
    void come_to(std::size_t rank, NodeId id, Instant now);
    void over(std::size_t rank, NodeId id, Instant now);
    void compute_next(std::size_t rank, bool gpu, Instant now);
    void join(std::size_t rank, NodeId id, Instant now);
    void begin_next(std::uint32_t group, Instant now);
    void take(std::size_t rank, NodeId received, Instant now);
    PlacedCollective& placed(Group& group, ExchangeKind kind);
    void count(std::size_t rank, Instant now);
    void go_on(Instant now);  // after all that an event has brought about

    const Workload& workload_;
    std::vector<Program> programs_;
    std::vector<Rank> ranks_;
    std::vector<Group> groups_;
    std::vector<std::vector<std::int32_t>> group_of_;  // by family and rank; or -1
    std::vector<std::vector<std::size_t>> place_in_;   // by family and rank
    std::map<Channel, Crossing> crossings_;
    std::map<std::pair<std::int32_t, std::int32_t>, PlacedCollective> ways_;
    std::vector<Channel> channels_;  // by the number in tokens
    std::map<Channel, std::uint32_t> channel_numbers_;
    std::size_t left_ = 0;  // nodes of all ranks
    std::size_t under_way_ = 0;
    StepParts sums_;
};

}  // namespace ukemi::sim
