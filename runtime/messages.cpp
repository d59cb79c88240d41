// messages.cpp — frames to structs and back: each struct lists its fields once, for both ways.
#include "runtime/messages.hpp"

#include <tuple>
#include <utility>

#include "base/invariant.hpp"
#include "runtime/wire.hpp"

namespace ukemi::runtime {

// The fields of every struct, in their order on the wire.
static auto fields(Leave&) { return std::tie(); }
static auto fields(Ping&) { return std::tie(); }
static auto fields(AgentBeat&) { return std::tie(); }
static auto fields(Dismissal&) { return std::tie(); }
static auto fields(Activity& m) { return std::tie(m.phase, m.step, m.collectives); }
static auto fields(Hello& m) { return std::tie(m.protocol, m.worker, m.process, m.secret); }
static auto fields(Ready& m) { return std::tie(m.parameters, m.samples_per_epoch); }
static auto fields(Heartbeat& m) { return std::tie(m.activity); }
static auto fields(OwnAddress& m) { return std::tie(m.attempt, m.address); }
static auto fields(Entered& m) {
    return std::tie(m.attempt, m.plan_version, m.plan_digest, m.replica_digest, m.replicas_equal,
                    m.step, m.position, m.rendezvous_ns, m.state_transfer_ns, m.exchange);
}
static auto fields(NotEntered& m) { return std::tie(m.attempt, m.why, m.peers_failed, m.suspect); }
static auto fields(StepFinished& m) { return std::tie(m.epoch, m.step, m.position, m.report); }
static auto fields(Standing& m) { return std::tie(m.epoch, m.order, m.step); }
static auto fields(StepFailed& m) {
    return std::tie(m.epoch, m.step, m.outcome, m.suspect, m.plan_disagreement, m.plan_version,
                    m.plan_digest);
}
static auto fields(PastStep& m) { return std::tie(m.step, m.position, m.report); }
static auto fields(Status& m) {
    return std::tie(m.inquiry, m.has_state, m.step, m.position, m.can_undo, m.replica_digest,
                    m.epoch, m.past);
}
static auto fields(Saved& m) { return std::tie(m.number, m.step, m.position, m.bytes, m.time_ns); }
static auto fields(NotSaved& m) { return std::tie(m.number, m.why); }
static auto fields(Trouble& m) { return std::tie(m.why); }
static auto fields(Welcome& m) {
    return std::tie(m.training, m.heartbeat_ns, m.collective_ns, m.transition_ns, m.coordinator_ns,
                    m.allow_faults, m.link_steps);
}
static auto fields(Transition& m) {
    return std::tie(m.attempt, m.epoch, m.group_changed, m.plan, m.plan_digest, m.members,
                    m.holders, m.rank, m.group_secret, m.step, m.checkpoint);
}
static auto fields(Peers& m) { return std::tie(m.attempt, m.addresses); }
static auto fields(Commit& m) { return std::tie(m.attempt); }
static auto fields(Discard& m) { return std::tie(m.attempt); }
static auto fields(Run& m) { return std::tie(m.epoch, m.order, m.limit, m.holds_done); }
static auto fields(Hold& m) { return std::tie(m.epoch, m.number); }
static auto fields(Abandon& m) { return std::tie(m.epoch, m.inquiry, m.past_from); }
static auto fields(Save& m) { return std::tie(m.number, m.file); }
static auto fields(Inject& m) { return std::tie(m.fault); }
static auto fields(AgentHello& m) { return std::tie(m.protocol, m.slots, m.name); }
static auto fields(WorkerEnded& m) { return std::tie(m.worker, m.how); }
static auto fields(AgentNotice& m) { return std::tie(m.text, m.has_time, m.left_ns); }
static auto fields(AgentWelcome& m) { return std::tie(m.heartbeat_ns); }
static auto fields(StartWorker& m) { return std::tie(m.worker, m.arguments, m.invitation); }
static auto fields(EndWorker& m) { return std::tie(m.worker); }
static auto fields(Tenure& m) { return std::tie(m.run, m.term, m.coordinator, m.rejoin_ns); }
static auto fields(AgentWorkers& m) { return std::tie(m.run, m.workers); }
static auto fields(Superseded& m) { return std::tie(m.run, m.term); }

static constexpr std::uint8_t count_of(WorkerPhase) {
    return static_cast<std::uint8_t>(WorkerPhase::saving) + 1;
}
static constexpr std::uint8_t count_of(Fault) {
    return static_cast<std::uint8_t>(Fault::die_writing) + 1;
}

std::string_view sentence_of(WorkerPhase phase) {
    switch (phase) {
        case WorkerPhase::loading: return "loading its data";
        case WorkerPhase::idle: return "idle";
        case WorkerPhase::connecting: return "connecting to its peers";
        case WorkerPhase::receiving_state: return "exchanging the replica's state";
        case WorkerPhase::reading_checkpoint: return "reading a checkpoint";
        case WorkerPhase::standing: return "standing before";
        case WorkerPhase::computing: return "computing";
        case WorkerPhase::exchanging: return "exchanging gradients of";
        case WorkerPhase::saving: return "writing a checkpoint before";
    }
    INVARIANT(false);
}

ByteString encode(const Message& message) {
    ByteString frame(4);
    FrameWriter writer(frame);
    auto type = static_cast<std::uint8_t>(message.index());
    writer.put(type);
    // Only ties fields; nothing is written to.
    std::visit([&](auto& each) { writer.put(each); }, const_cast<Message&>(message));
    const std::size_t length = frame.size() - 4;
    INVARIANT(length <= frame_bytes_max);
    for (std::size_t i = 0; i < 4; ++i) {
        frame[i] = static_cast<std::uint8_t>((length >> (8 * i)) & 0xFFU);
    }
    return frame;
}

Decoded decode(std::span<const std::uint8_t> frame) {
    if (frame.size() > frame_bytes_max) return {std::nullopt, "a frame that is too long"};
    FrameReader reader(frame);
    std::uint8_t type = 0;
    reader.get(type);
    constexpr std::size_t types = std::variant_size_v<Message>;
    if (type >= types) reader.fail("a message of an unknown type");
    Decoded decoded{Message(), {}};
    if (reader.problem().empty()) {
        reader.get_alternative(type, *decoded.message);
    }
    if (reader.problem().empty() && reader.left() > 0) reader.fail("bytes after the last field");
    if (!reader.problem().empty()) return {std::nullopt, reader.problem()};
    return decoded;
}

}  // namespace ukemi::runtime
