// peer_mesh_meeting.cpp — how ranks of a mesh meet and part.
//
// The rank with the higher number calls, the lower one listens. Before anybody has shown the
// pair's key he is a guest: there are a few places, the longest-standing guest makes room, and a
// caller whose place was taken calls again. So a flood of strangers delays a meeting, and no more.
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/peer_mesh.hpp"

namespace ukemi::kernels {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t guests_max = 64;
constexpr int guests_a_turn = 64;
constexpr auto before_calling_again = 10ms;
constexpr auto pause_without_room = 10ms;  // the system has no descriptor left
constexpr auto leave_when_well = 1000ms;
constexpr auto leave_when_failed = 500ms;
constexpr auto end_of_others = 50ms;

// Until no stream is left of which `waits` says that it does, or the time is over.
template <class Waits>
void while_some_wait(std::vector<SecureStream*>& streams, short events,
                     std::chrono::milliseconds limit, Waits waits) {
    const auto end = PeerMesh::Clock::now() + limit;
    while (true) {
        std::erase_if(streams, [&](SecureStream* stream) { return !waits(*stream); });
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - PeerMesh::Clock::now());
        if (streams.empty() || left.count() <= 0) return;
        std::vector<pollfd> descriptors;
        for (const SecureStream* stream : streams) {
            descriptors.push_back({stream->descriptor(), events, 0});
        }
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(left.count()));
    }
}

}  // namespace

// Who calls whom in which epoch: a key of its own follows from it.
std::string PeerMesh::identity_of(int from, int to) const {
    const auto [epoch, rank, size] = settings_.membership;
    return fmt::format("ukemi group {} of {}{}: {} to {}", epoch, size,
                       protection() == Protection::encrypted ? "" : " in plain", from, to);
}

Protection PeerMesh::protection() const {
    const bool here_only = SocketAddress::of_text(address_)->is_loopback();
    switch (settings_.encryption) {
        case Encryption::always: return Protection::encrypted;
        case Encryption::never: return Protection::handshake_only;
        case Encryption::across_hosts: break;
    }
    return here_only ? Protection::handshake_only : Protection::encrypted;
}

std::optional<PresharedKey> PeerMesh::key_of(std::string_view identity) const {
    const std::string& secret = settings_.secret;
    return derived_key({reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()},
                       identity);
}

bool PeerMesh::everybody_is_here() const { return first_missing() < 0; }

int PeerMesh::first_missing() const {
    for (const Peer& peer : peers_) {
        const bool was_here = peer.stream || peer.left || peer.rank == settings_.membership.rank;
        if (!was_here) return peer.rank;
    }
    return -1;
}

bool PeerMesh::read_addresses(std::span<const std::vector<std::byte>> addresses, Meeting& meeting) {
    const int rank = settings_.membership.rank;
    if (addresses.size() != peers_.size()) {
        fail_locked(Outcome::peer_lost, -1);
        return false;
    }
    const bool here_only = SocketAddress::of_text(address_)->is_loopback();
    std::map<std::string, std::int32_t> numbers;
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
        const std::vector<std::byte>& bytes = addresses[static_cast<std::size_t>(peer)];
        const auto address =
            SocketAddress::of_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        const auto next = static_cast<std::int32_t>(numbers.size());
        const std::string host = address ? address->host() : std::string();
        hosts_.push_back(numbers.try_emplace(host, next).first->second);
        if (peer == rank) continue;
        if (!address || address->is_any() || address->is_loopback() != here_only) {
            fail_locked(Outcome::peer_lost, peer);
            return false;
        }
        if (peer < rank) meeting.calls.push_back({peer, *address, std::nullopt, {}});
    }
    return true;
}

// Begins, or goes on. False: that rank is lost.
bool PeerMesh::go_on_calling(Call& call) {
    if (peer_of(call.peer).stream || peer_of(call.peer).left) return true;
    if (!call.stream) {
        if (Clock::now() < call.again) return true;
        try {
            const std::string identity = identity_of(settings_.membership.rank, call.peer);
            call.stream.emplace(connecting_socket(call.address), identity, *key_of(identity),
                                protection());
        } catch (const std::system_error&) {
            return false;
        }
    }
    if (!call.stream->shake_hands()) {
        // Somebody else is there, or nobody is.
        if (call.stream->was_violated() || call.stream->was_refused()) return false;
        call.stream.reset();
        call.again = Clock::now() + before_calling_again;
    } else if (call.stream->is_open()) {
        welcome(std::move(*call.stream), call.peer);
        call.stream.reset();
    }
    return true;
}

void PeerMesh::welcome(SecureStream stream, int rank) {
    Peer& peer = peer_of(rank);
    epoll_event event{EPOLLIN, {}};
    event.data.u32 = static_cast<std::uint32_t>(rank);
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, stream.descriptor(), &event) != 0) {
        return fail_locked(Outcome::peer_lost, rank);
    }
    peer.stream.emplace(std::move(stream));
    pump(peer);  // what has come with its last word
}

bool PeerMesh::hear_calls(Meeting& meeting) {
    for (Call& each : meeting.calls) {
        if (go_on_calling(each)) continue;
        fail_locked(Outcome::peer_lost, each.peer);
        return false;
    }
    return true;
}

void PeerMesh::receive_guests(Meeting& meeting) {
    if (Clock::now() < meeting.closed_until) return;
    for (int i = 0; i < guests_a_turn; ++i) {
        FileDescriptor socket(
            ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            const bool none_waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
            if (!none_waits) meeting.closed_until = Clock::now() + pause_without_room;
            return;
        }
        send_at_once(socket);
        if (meeting.guests.size() == guests_max) {
            const auto stranger = std::ranges::find_if(
                meeting.guests, [](const SecureStream& guest) { return !guest.is_expected(); });
            meeting.guests.erase(stranger == meeting.guests.end() ? meeting.guests.begin()
                                                                  : stranger);
        }
        meeting.guests.emplace_back(
            std::move(socket),
            [this](std::string_view identity) -> std::optional<PresharedKey> {
                const auto [epoch, rank, size] = settings_.membership;
                for (int from = rank + 1; from < size; ++from) {
                    if (identity == identity_of(from, rank)) return key_of(identity);
                }
                return std::nullopt;
            },
            protection());
        // Mostly all is there: who has the key is then no stranger any more.
        if (!meeting.guests.back().shake_hands()) meeting.guests.pop_back();
    }
}

void PeerMesh::hear_guests(Meeting& meeting) {
    std::deque<SecureStream> waiting;
    for (SecureStream& guest : meeting.guests) {
        if (!guest.shake_hands()) continue;
        if (!guest.is_open()) {
            waiting.push_back(std::move(guest));
            continue;
        }
        for (int from = settings_.membership.rank + 1; from < settings_.membership.size; ++from) {
            const bool is_it = guest.identity() == identity_of(from, settings_.membership.rank);
            if (!is_it || peer_of(from).stream || peer_of(from).left) continue;
            welcome(std::move(guest), from);
            break;
        }
    }
    meeting.guests = std::move(waiting);
}

// Without the lock: until something has come, or somebody is to be called again.
void PeerMesh::wait_for_any(Lock& lock, const Meeting& meeting, Clock::time_point deadline) const {
    std::vector<pollfd> descriptors{{poll_.get(), POLLIN, 0}};
    if (Clock::now() >= meeting.closed_until) {
        descriptors.push_back({listening_.get(), POLLIN, 0});
    } else {
        deadline = std::min(deadline, meeting.closed_until);
    }
    const auto watch = [&](const SecureStream& stream) {
        const short events = stream.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
        descriptors.push_back({stream.descriptor(), events, 0});
    };
    for (const Call& call : meeting.calls) {
        if (call.stream) watch(*call.stream);
        if (!call.stream && call.again > Clock::now()) deadline = std::min(deadline, call.again);
    }
    for (const SecureStream& guest : meeting.guests) watch(guest);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    lock.unlock();
    ::poll(descriptors.data(), descriptors.size(),
           static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000)));
    lock.lock();
}

Outcome PeerMesh::connect(std::span<const std::vector<std::byte>> addresses) {
    Lock lock(mutex_);
    INVARIANT(listening_);
    const Clock::time_point deadline = Clock::now() + settings_.deadline;
    Meeting meeting;
    if (!read_addresses(addresses, meeting)) return outcome_;
    while (outcome_ == Outcome::ok && hear_calls(meeting)) {
        receive_guests(meeting);
        hear_guests(meeting);
        look(lock, Clock::now());  // those who are here may leave
        if (everybody_is_here()) break;
        if (Clock::now() >= deadline) fail_locked(Outcome::timed_out, first_missing());
        if (outcome_ == Outcome::ok) wait_for_any(lock, meeting, deadline);
    }
    listening_.reset();
    return outcome_;
}

// Tells the others, as far as the kernel takes it in time; what was sent before goes first. A
// connection that closes with bytes unread is reset, which may overtake what is still on its way:
// after a failure, the others get a moment to end first.
void PeerMesh::say_goodbye() {
    const bool well = outcome_ == Outcome::ok;
    const std::int32_t reason = static_cast<std::int32_t>(outcome_.load());
    std::vector<SecureStream*> open;
    for (Peer& peer : peers_) {
        if (!peer.stream || (!well && peer.rank == suspect_)) continue;
        const auto goodbye = goodbye_of(reason, suspect_);
        if (peer.stream->write(goodbye)) open.push_back(&*peer.stream);
    }
    std::vector<SecureStream*> ending = open;
    const auto limit =
        well ? std::min<std::chrono::milliseconds>(leave_when_well, settings_.deadline)
             : std::chrono::milliseconds(leave_when_failed);
    while_some_wait(open, POLLOUT, limit,
                    [](SecureStream& stream) { return stream.flush() && stream.wants_to_write(); });
    for (SecureStream* stream : ending) stream->end_writing();
    if (well) return;
    std::vector<std::byte> unwanted(64 << 10);
    while_some_wait(ending, POLLIN, end_of_others, [&](SecureStream& stream) {
        std::size_t got = unwanted.size();
        while (got == unwanted.size()) {
            if (!stream.read(unwanted, got)) return false;
        }
        return true;
    });
}

void PeerMesh::withdraw() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(withdrawn_, true)) return;
    for (Peer& peer : peers_) {
        peer.leaving.clear();
        peer.outgoing.clear();
        peer.held.clear();
        peer.expected.clear();
        peer.into = nullptr;
    }
    say_goodbye();
    for (Peer& peer : peers_) peer.stream.reset();
}

PeerMesh::~PeerMesh() {
    INVARIANT(waited_for_.empty());
    if (outcome_ == Outcome::ok) {
        say_goodbye();
    } else {
        withdraw();
    }
}

}  // namespace ukemi::kernels
