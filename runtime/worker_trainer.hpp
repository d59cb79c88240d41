// worker_trainer.hpp — the training thread of a worker: obeys orders one after the other, and
// steps.
//
// It holds at most two groups: the one it is a member of, and one it is about to enter. Everything
// new stands beside the old until the coordinator commits it, so that discarding a transition is
// dropping the new.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compute_backend.hpp"
#include "kernels/data_set.hpp"
#include "kernels/learners/learner_group.hpp"
#include "kernels/model.hpp"
#include "kernels/nccl/device_exchange.hpp"
#include "kernels/replica.hpp"
#include "kernels/socket_communicator.hpp"
#include "kernels/training_spec.hpp"
#include "kernels/training_step.hpp"
#include "runtime/worker_link.hpp"

namespace ukemi::runtime {

// One membership epoch, which an order may abort at any time.
struct EpochPeers {
    // `devices`: what this worker may exchange with beside its sockets; `sums` as DeviceExchange's.
    EpochPeers(WorkerLink& to, const kernels::GroupSettings& settings, std::uint64_t attempt,
               kernels::DeviceLink devices, std::vector<std::string> sums);
    ~EpochPeers();
    EpochPeers(const EpochPeers&) = delete;
    EpochPeers& operator=(const EpochPeers&) = delete;
    WorkerLink& link;
    std::uint64_t epoch;
    kernels::SocketCommunicator sockets;
    kernels::DeviceExchange exchange;
    WatchedCommunicator watched;
};

struct TrainingGroup {
    std::shared_ptr<EpochPeers> peers;
    std::unique_ptr<kernels::TrainingStep> training;
    policies::Plan plan;
    std::uint64_t plan_digest = 0;
    bool failed = false;  // a step did: nothing more until it is abandoned
};

struct NextGroup {
    Transition order;
    std::shared_ptr<EpochPeers> peers;
    policies::Plan plan;
    std::uint64_t plan_digest = 0;
    std::optional<kernels::Replica> replica;  // if it is not the present one
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::int64_t rendezvous_ns = 0;
};

// What goes with the state that a newcomer gets.
struct StateHeader {
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::uint64_t bytes = 0;
};

class WorkerTrainer {
public:
    // `backend` outlives it; `worker` is the number of this process.
    WorkerTrainer(WorkerLink& link, const Welcome& welcome, const kernels::ComputeBackend& backend,
                  std::uint32_t slot, kernels::Encryption encryption);
    // Until told to leave or the coordinator is gone. Throws what the data set or the machine do.
    void run();

private:
    void load();
    std::shared_ptr<EpochPeers> make_peers(const Transition& order, int size);
    bool obey(const Message& order);  // false: leave
    void begin(const Transition& order);
    void connect(const Peers& peers);
    void enter();
    kernels::Outcome exchange_state();
    void make_first_state(StateHeader& header);
    void refuse(const std::string& why);
    void refuse_for_peers(const char* what, kernels::Outcome outcome);
    void commit(const Commit& order);
    void abandon(const Abandon& order);
    void start(const Run& order);
    void train();
    bool step_once();
    void save(const Save& order);
    void stand();
    const kernels::Replica& next_replica() const {
        return next_->replica ? *next_->replica : *replica_;
    }

    WorkerLink& link_;
    Welcome welcome_;
    kernels::TrainingSpec spec_;
    const kernels::ComputeBackend& backend_;
    std::uint32_t slot_;  // of its machine
    kernels::Encryption encryption_;
    kernels::DataSet data_;
    std::unique_ptr<kernels::Model> model_;
    kernels::DeviceLink devices_;

    // Outlives groups, as the replica does: its learners go on in the next one if they may.
    std::unique_ptr<kernels::LearnerGroup> learners_;
    std::optional<kernels::Replica> replica_;
    std::int64_t step_ = 0;  // the next
    std::int64_t position_ = 0;
    std::int64_t position_before_ = 0;  // the last step, for undoing it
    std::uint64_t epoch_ = 0;           // of the last group
    std::deque<PastStep> past_;

    std::optional<TrainingGroup> group_;
    std::optional<NextGroup> next_;
    Run run_;  // the last order to run
};

}  // namespace ukemi::runtime
