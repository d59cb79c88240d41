// messages.cpp — frames to structs and back: each struct lists its fields once, for both ways.
#include "runtime/messages.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::runtime {
namespace {

// The fields of every struct, in their order on the wire.
auto fields(Leave&) { return std::tie(); }
auto fields(Ping&) { return std::tie(); }
auto fields(AgentBeat&) { return std::tie(); }
auto fields(Dismissal&) { return std::tie(); }
auto fields(Activity& m) { return std::tie(m.phase, m.step, m.collectives); }
auto fields(Hello& m) { return std::tie(m.protocol, m.worker, m.process, m.secret); }
auto fields(Ready& m) { return std::tie(m.parameters, m.samples_per_epoch); }
auto fields(Heartbeat& m) { return std::tie(m.activity); }
auto fields(OwnAddress& m) { return std::tie(m.attempt, m.address); }
auto fields(Entered& m) {
    return std::tie(m.attempt, m.plan_version, m.plan_digest, m.replica_digest, m.replicas_equal,
                    m.step, m.position, m.rendezvous_ns, m.state_transfer_ns, m.exchange);
}
auto fields(NotEntered& m) { return std::tie(m.attempt, m.why, m.peers_failed, m.suspect); }
auto fields(kernels::StepWord& m) {
    return std::tie(m.plan_version, m.plan_digest, m.step, m.wants_hold, m.rank, m.samples,
                    m.loss_sum, m.correct, m.local_squared_norm, m.average_squared_norm,
                    m.compute_ns, m.communication_ns, m.exposed_ns, m.input_ns, m.codec_ns,
                    m.sent_bytes, m.codec_lost, m.codec_whole);
}
auto fields(kernels::StepReport& m) {
    return std::tie(m.words, m.samples, m.loss, m.accuracy, m.noise_measured, m.squared_norm,
                    m.covariance_trace, m.noise_scale, m.average_squared_norm, m.codec_error,
                    m.hold);
}
auto fields(StepFinished& m) { return std::tie(m.epoch, m.step, m.position, m.report); }
auto fields(Standing& m) { return std::tie(m.epoch, m.order, m.step); }
auto fields(StepFailed& m) {
    return std::tie(m.epoch, m.step, m.outcome, m.suspect, m.plan_disagreement, m.plan_version,
                    m.plan_digest);
}
auto fields(PastStep& m) { return std::tie(m.step, m.position, m.report); }
auto fields(Status& m) {
    return std::tie(m.inquiry, m.has_state, m.step, m.position, m.can_undo, m.replica_digest,
                    m.epoch, m.past);
}
auto fields(Saved& m) { return std::tie(m.number, m.step, m.position, m.bytes, m.time_ns); }
auto fields(NotSaved& m) { return std::tie(m.number, m.why); }
auto fields(Trouble& m) { return std::tie(m.why); }
auto fields(Welcome& m) {
    return std::tie(m.training, m.heartbeat_ns, m.collective_ns, m.transition_ns, m.coordinator_ns,
                    m.allow_faults);
}
auto fields(Transition& m) {
    return std::tie(m.attempt, m.epoch, m.group_changed, m.plan, m.plan_digest, m.members,
                    m.holders, m.rank, m.group_secret, m.step, m.checkpoint);
}
auto fields(Peers& m) { return std::tie(m.attempt, m.addresses); }
auto fields(Commit& m) { return std::tie(m.attempt); }
auto fields(Discard& m) { return std::tie(m.attempt); }
auto fields(Run& m) { return std::tie(m.epoch, m.order, m.limit, m.holds_done); }
auto fields(Hold& m) { return std::tie(m.epoch, m.number); }
auto fields(Abandon& m) { return std::tie(m.epoch, m.inquiry, m.past_from); }
auto fields(Save& m) { return std::tie(m.number, m.file); }
auto fields(Inject& m) { return std::tie(m.fault); }
auto fields(AgentHello& m) { return std::tie(m.protocol, m.slots, m.name); }
auto fields(WorkerEnded& m) { return std::tie(m.worker, m.how); }
auto fields(AgentNotice& m) { return std::tie(m.text, m.has_time, m.left_ns); }
auto fields(AgentWelcome& m) { return std::tie(m.heartbeat_ns); }
auto fields(StartWorker& m) { return std::tie(m.worker, m.arguments, m.invitation); }
auto fields(EndWorker& m) { return std::tie(m.worker); }
auto fields(Tenure& m) { return std::tie(m.run, m.term, m.coordinator, m.rejoin_ns); }
auto fields(AgentWorkers& m) { return std::tie(m.run, m.workers); }
auto fields(Superseded& m) { return std::tie(m.run, m.term); }

// Both come from elsewhere: a field added there must be added here.
static_assert(sizeof(kernels::StepWord) == 136);
static_assert(sizeof(kernels::StepReport) == sizeof(std::vector<kernels::StepWord>) + 80);

constexpr std::uint8_t count_of(WorkerPhase) {
    return static_cast<std::uint8_t>(WorkerPhase::saving) + 1;
}
constexpr std::uint8_t count_of(kernels::Outcome) {
    return static_cast<std::uint8_t>(kernels::Outcome::aborted) + 1;
}
constexpr std::uint8_t count_of(Fault) { return static_cast<std::uint8_t>(Fault::die_writing) + 1; }

template <class T>
concept Fixed = std::integral<T> && !std::same_as<T, bool>;

class Writer {
public:
    explicit Writer(ByteString& out) : out_(out) {}

    template <Fixed T>
    void put(T& value) {
        auto bits = static_cast<std::make_unsigned_t<T>>(value);
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            out_.push_back(
                static_cast<std::uint8_t>((static_cast<std::uint64_t>(bits) >> (8 * i)) & 0xFFU));
        }
    }
    void put(bool& value) { out_.push_back(value ? 1 : 0); }
    void put(double& value) {
        auto bits = std::bit_cast<std::uint64_t>(value);
        put(bits);
    }
    template <class T>
        requires std::is_enum_v<T>
    void put(T& value) {
        out_.push_back(static_cast<std::uint8_t>(value));
    }
    void put(std::string& text) {
        put_count(text.size());
        out_.insert(out_.end(), text.begin(), text.end());
    }
    template <std::size_t n>
    void put(std::array<std::uint8_t, n>& bytes) {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    }
    template <class T>
    void put(std::vector<T>& list) {
        put_count(list.size());
        for (T& each : list) put(each);
    }
    template <class T>
    void put(std::optional<T>& value) {
        bool present = value.has_value();
        put(present);
        if (present) put(*value);
    }
    template <class T>
        requires std::is_class_v<T>
    void put(T& value) {
        std::apply([this](auto&... each) { (this->put(each), ...); }, fields(value));
    }

private:
    void put_count(std::size_t count) {
        INVARIANT(count <= frame_bytes_max);
        auto narrow = static_cast<std::uint32_t>(count);
        put(narrow);
    }
    ByteString& out_;
};

class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> in) : left_(in) {}
    const std::string& problem() const { return problem_; }
    std::size_t left() const { return left_.size(); }

    template <Fixed T>
    void get(T& value) {
        std::uint64_t bits = 0;
        const auto bytes = take(sizeof(T));
        for (std::size_t i = 0; i < bytes.size(); ++i) bits |= std::uint64_t{bytes[i]} << (8 * i);
        value = static_cast<T>(bits);
    }
    void get(bool& value) {
        std::uint8_t byte = 0;
        get(byte);
        if (byte > 1) fail("a flag that is neither 0 nor 1");
        value = byte == 1;
    }
    void get(double& value) {
        std::uint64_t bits = 0;
        get(bits);
        value = std::bit_cast<double>(bits);
    }
    template <class T>
        requires std::is_enum_v<T>
    void get(T& value) {
        std::uint8_t byte = 0;
        get(byte);
        if (byte >= count_of(T{})) return fail("an enumerator out of range");
        value = static_cast<T>(byte);
    }
    void get(std::string& text) {
        const auto bytes = take(get_count(1));
        text.assign(bytes.begin(), bytes.end());
    }
    template <std::size_t n>
    void get(std::array<std::uint8_t, n>& out) {
        const auto bytes = take(n);
        std::copy(bytes.begin(), bytes.end(), out.begin());
    }
    template <class T>
    void get(std::vector<T>& list) {
        // An element is never shorter than this, so a false count cannot make us allocate much.
        constexpr std::size_t least = std::is_class_v<T> ? 4 : sizeof(T);
        const std::size_t count = get_count(least);
        list.clear();
        for (std::size_t i = 0; i < count && problem_.empty(); ++i) get(list.emplace_back());
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool present = false;
        get(present);
        if (present) get(value.emplace());
    }
    template <class T>
        requires std::is_class_v<T>
    void get(T& value) {
        std::apply([this](auto&... each) { (this->get(each), ...); }, fields(value));
    }
    void fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
        left_ = {};
    }

private:
    std::span<const std::uint8_t> take(std::size_t count) {
        if (count > left_.size()) {
            fail("a frame that ends too early");
            return {};
        }
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    std::size_t get_count(std::size_t element_bytes) {
        std::uint32_t count = 0;
        get(count);
        if (count <= left_.size() / element_bytes) return count;
        fail("a list longer than its frame");
        return 0;
    }
    std::span<const std::uint8_t> left_;
    std::string problem_;
};

template <std::size_t... type>
void get_alternative(std::size_t wanted, Reader& reader, Message& message,
                     std::index_sequence<type...>) {
    ((type == wanted ? reader.get(message.emplace<type>()) : void()), ...);
}

}  // namespace

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
    Writer writer(frame);
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
    Reader reader(frame);
    std::uint8_t type = 0;
    reader.get(type);
    constexpr std::size_t types = std::variant_size_v<Message>;
    if (type >= types) reader.fail("a message of an unknown type");
    Decoded decoded{Message(), {}};
    if (reader.problem().empty()) {
        get_alternative(type, reader, *decoded.message, std::make_index_sequence<types>());
    }
    if (reader.problem().empty() && reader.left() > 0) reader.fail("bytes after the last field");
    if (!reader.problem().empty()) return {std::nullopt, reader.problem()};
    return decoded;
}

}  // namespace ukemi::runtime
