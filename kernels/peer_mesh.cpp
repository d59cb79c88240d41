// peer_mesh.cpp — its state, the bytes that move, and the end of every wait.
#include "kernels/peer_mesh.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

constexpr std::size_t chunk_bytes_encrypted = 128 << 10;  // of what is copied, what caches hold
constexpr std::size_t chunk_bytes_max = std::size_t{1} << 20;
constexpr std::size_t unasked_bytes_max = 32 << 10;  // a parcel as long as this is sent at once
constexpr std::size_t staged_bytes_max = 16 << 10;   // frames of one record
// Of one peer: more than any step sends ahead; a peer that does is broken.
constexpr std::size_t early_bytes_max = std::size_t{256} << 20;
constexpr std::size_t ready_slots_max = std::size_t{1} << 18;

constexpr std::uint32_t kind_data = 0;
constexpr std::uint32_t kind_ready = 1;
constexpr std::uint32_t kind_notice = 2;

template <class Number>
void put(std::span<std::byte> text, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
        text[i] = static_cast<std::byte>(number >> (8 * i));
    }
}
template <class Number>
Number number_in(std::span<const std::byte> text) {
    Number number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) {
        number |= static_cast<Number>(static_cast<Number>(text[i]) << (8 * i));
    }
    return number;
}

[[noreturn]] void fail_making(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::array<std::byte, PeerMesh::header_bytes> PeerMesh::text_of(const Header& header) {
    std::array<std::byte, header_bytes> text{};
    const std::span<std::byte> all(text);
    put(all, header.slot);
    put(all.subspan(8), header.total);
    put(all.subspan(12), header.offset);
    put(all.subspan(16), header.length);
    put(all.subspan(20), header.kind);
    return text;
}

PeerMesh::Header PeerMesh::header_in(std::span<const std::byte, header_bytes> text) {
    return {number_in<std::uint64_t>(text), number_in<std::uint32_t>(text.subspan(8)),
            number_in<std::uint32_t>(text.subspan(12)), number_in<std::uint32_t>(text.subspan(16)),
            number_in<std::uint32_t>(text.subspan(20))};
}

std::vector<std::byte> PeerMesh::goodbye_of(std::int32_t reason, std::int32_t suspect) {
    const auto header = text_of({0, 0, 0, notice_bytes, kind_notice});
    std::vector<std::byte> frame(header.begin(), header.end());
    frame.resize(header_bytes + notice_bytes);
    const std::span<std::byte> notice = std::span(frame).subspan(header_bytes);
    put(notice, static_cast<std::uint32_t>(reason));
    put(notice.subspan(4), static_cast<std::uint32_t>(suspect));
    return frame;
}

PeerMesh::PeerMesh(GroupSettings settings)
    : settings_(std::move(settings)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const auto [epoch, rank, size] = settings_.membership;
    INVARIANT(size >= 1 && rank >= 0 && rank < size && settings_.deadline.count() > 0);
    if (!poll_) fail_making("epoll_create1");
    if (!wake_) fail_making("eventfd");
    const auto here = SocketAddress::of_host(settings_.listen, 0);
    INVARIANT(here && !here->is_any());
    listening_ = listening_socket(*here);
    address_ = SocketAddress::of_socket(listening_.get()).text();
    peers_.resize(static_cast<std::size_t>(size));
    for (int peer = 0; peer < size; ++peer) peer_of(peer).rank = peer;
    epoll_event event{EPOLLIN, {}};
    event.data.u32 = static_cast<std::uint32_t>(size);
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) fail_making("epoll_ctl");
}

int PeerMesh::suspect() const {
    const std::lock_guard lock(mutex_);
    return suspect_;
}

void PeerMesh::fail(Outcome outcome, int suspect) {
    if (outcome_ != Outcome::ok) return;  // a goodbye holds the lock for a while
    const std::lock_guard lock(mutex_);
    fail_locked(outcome, suspect);
}

void PeerMesh::fail_locked(Outcome outcome, int suspect) {
    if (outcome_ != Outcome::ok) return;
    suspect_ = suspect;
    outcome_.store(outcome);
    wake();
    for (Follower* follower : followers_) follower->changed.notify_one();
}

void PeerMesh::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

// ---- what the kernel has, and what it takes -------------------------------------------------

// Waits until something can be moved, at most until then, and moves it.
void PeerMesh::look(Lock& lock, Clock::time_point until) {
    std::array<epoll_event, 16> events{};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    lock.unlock();
    const int count =
        ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()),
                     static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000)));
    lock.lock();
    for (int i = 0; i < count; ++i) {
        const std::uint32_t rank = events[static_cast<std::size_t>(i)].data.u32;
        if (rank < peers_.size()) {
            pump(peers_[rank]);
            continue;
        }
        std::uint64_t woken = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &woken, sizeof woken);
    }
}

void PeerMesh::pump(Peer& peer) {
    if (outcome_ != Outcome::ok) return;
    pull(peer);
    push(peer);
}

// Sends as much as the kernel takes. A part of the mesh that has failed stays as it is.
void PeerMesh::push(Peer& peer) {
    while (outcome_ == Outcome::ok && peer.stream) {
        if (!peer.stream->flush()) return lose_room(peer);
        if (peer.stream->wants_to_write()) break;
        for (Parcel* parcel : peer.leaving) finish(*parcel);
        peer.leaving.clear();
        if (peer.outgoing.empty()) break;
        if (!push_chunk(peer)) return lose_room(peer);
    }
    if (!peer.stream || peer.watched_for_room == peer.stream->wants_to_write()) return;
    peer.watched_for_room = peer.stream->wants_to_write();
    epoll_event event{peer.watched_for_room ? EPOLLIN | EPOLLOUT : EPOLLIN, {}};
    event.data.u32 = static_cast<std::uint32_t>(peer.rank);
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, peer.stream->descriptor(), &event);
}

// Writes one chunk, or as many short frames as go into one record. Frames are whole, so that a
// notice may follow at any moment.
bool PeerMesh::push_chunk(Peer& peer) {
    staging_.clear();
    const bool is_plain = peer.stream->protection() == Protection::handshake_only;
    const std::size_t chunk_bytes = is_plain ? chunk_bytes_max : chunk_bytes_encrypted;
    while (!peer.outgoing.empty()) {
        Outgoing& next = peer.outgoing.front();
        std::span<const std::byte> body;
        Header header = next.header;
        if (next.parcel != nullptr) {
            const Parcel& parcel = *next.parcel;
            body = std::span<const std::byte>(parcel.data, parcel.bytes).subspan(parcel.moved);
            body = body.first(std::min(body.size(), chunk_bytes));
            header = {parcel.slot, static_cast<std::uint32_t>(parcel.bytes),
                      static_cast<std::uint32_t>(parcel.moved),
                      static_cast<std::uint32_t>(body.size()), kind_data};
        }
        const bool is_short = header_bytes + body.size() <= staged_bytes_max;
        const bool fits = staging_.size() + header_bytes + body.size() <= staged_bytes_max;
        if (!staging_.empty() && !fits) break;
        const auto text = text_of(header);
        staging_.insert(staging_.end(), text.begin(), text.end());
        if (is_short) {
            staging_.insert(staging_.end(), body.begin(), body.end());
        } else if (!peer.stream->write(staging_) || !peer.stream->lend(body)) {
            return false;
        }
        if (next.parcel != nullptr) next.parcel->moved += body.size();
        const bool whole = next.parcel == nullptr || next.parcel->moved == next.parcel->bytes;
        if (whole && next.parcel != nullptr) peer.leaving.push_back(next.parcel);
        if (whole) peer.outgoing.pop_front();
        if (!is_short) return true;
    }
    return peer.stream->write(staging_);
}

// Takes all that is there: OpenSSL must hold nothing of which the kernel knows nothing.
void PeerMesh::pull(Peer& peer) {
    while (outcome_ == Outcome::ok && peer.stream) {
        if (peer.left_to_read == 0) {
            if (!pull_header(peer)) return;
            if (!begin_frame(peer)) return fail_locked(Outcome::peer_lost, peer.rank);
        }
        if (peer.left_to_read > 0) {
            std::size_t got = 0;
            if (!peer.stream->read({peer.target, peer.left_to_read}, got)) {
                return connection_ended(peer);
            }
            peer.target += got;
            peer.left_to_read -= got;
            if (peer.left_to_read > 0) return;
        }
        if (!end_frame(peer)) return fail_locked(Outcome::peer_lost, peer.rank);
    }
}

bool PeerMesh::pull_header(Peer& peer) {
    std::size_t got = 0;
    const auto room = std::span(peer.header_text).subspan(peer.header_got);
    if (!peer.stream->read(room, got)) {
        connection_ended(peer);
        return false;
    }
    peer.header_got += got;
    if (peer.header_got < header_bytes) return false;
    peer.header_got = 0;
    peer.header = header_in(peer.header_text);
    return true;
}

// ---- frames ---------------------------------------------------------------------------------

// False for what none of us would send.
bool PeerMesh::begin_frame(Peer& peer) {
    const Header& header = peer.header;
    peer.into = nullptr;
    peer.left_to_read = header.length;
    switch (header.kind) {
        case kind_data: return begin_data(peer);
        case kind_ready: return header.length == 0;
        case kind_notice:
            peer.own.resize(notice_bytes);
            peer.target = peer.own.data();
            return header.length == notice_bytes;
        default: return false;
    }
}

bool PeerMesh::begin_data(Peer& peer) {
    const Header& header = peer.header;
    if (header.length == 0 || header.length > chunk_bytes_max || header.offset > header.total ||
        header.length > header.total - header.offset) {
        return false;
    }
    const auto expected = peer.expected.find(header.slot);
    if (expected != peer.expected.end()) {
        Parcel& parcel = *expected->second;
        if (parcel.bytes != header.total || parcel.moved != header.offset) return false;
        peer.into = &parcel;
        peer.target = parcel.data + parcel.moved;
        return true;
    }
    const bool whole = header.offset == 0 && header.length == header.total;
    if (!whole || header.total > unasked_bytes_max || peer.early.contains(header.slot) ||
        peer.early_bytes + header.total > early_bytes_max) {
        return false;
    }
    peer.own.resize(header.total);
    peer.target = peer.own.data();
    return true;
}

bool PeerMesh::end_frame(Peer& peer) {
    const Header& header = peer.header;
    if (header.kind == kind_notice) {
        heed_notice(peer);
        return true;
    }
    if (header.kind == kind_ready) {
        const auto held = peer.held.find(header.slot);
        if (held == peer.held.end()) {
            return peer.ready.size() < ready_slots_max && peer.ready.insert(header.slot).second;
        }
        peer.outgoing.push_back({{}, held->second});
        peer.held.erase(held);
        return true;
    }
    if (peer.into == nullptr) {
        const auto expected = peer.expected.find(header.slot);  // since it began
        if (expected == peer.expected.end()) {
            peer.early_bytes += peer.own.size();
            peer.early.emplace(header.slot, std::exchange(peer.own, {}));
            return true;
        }
        if (expected->second->bytes != peer.own.size()) return false;
        peer.into = expected->second;
        std::memcpy(peer.into->data, peer.own.data(), peer.own.size());
    }
    Parcel& parcel = *std::exchange(peer.into, nullptr);
    parcel.moved += header.length;
    if (parcel.moved < parcel.bytes) return true;
    peer.expected.erase(header.slot);
    finish(parcel);
    return true;
}

void PeerMesh::finish(Parcel& parcel) {
    parcel.done = true;
    for (Follower* follower : followers_) {
        if (follower->parcel == &parcel) follower->changed.notify_one();
    }
}

// The peer said that it leaves. If it gave a reason, that is the reason.
void PeerMesh::heed_notice(Peer& peer) {
    const std::span<const std::byte> text(peer.own);
    const auto reason = number_in<std::uint32_t>(text);
    const auto said = static_cast<std::int32_t>(number_in<std::uint32_t>(text.subspan(4)));
    switch (reason) {
        case static_cast<std::uint32_t>(Outcome::ok): peer.left = true; return;
        case static_cast<std::uint32_t>(Outcome::peer_lost):
        case static_cast<std::uint32_t>(Outcome::timed_out): break;
        case static_cast<std::uint32_t>(Outcome::aborted):
            return fail_locked(Outcome::peer_lost, -1);  // it is alive, and nobody's fault
        default: return fail_locked(Outcome::peer_lost, peer.rank);
    }
    int suspect = std::clamp(said, -1, settings_.membership.size - 1);
    if (suspect == settings_.membership.rank) {
        // Somebody gave up waiting for this rank, which waits itself.
        if (!waited_for_.empty()) suspect = *waited_for_.begin();
    }
    fail_locked(static_cast<Outcome>(reason), suspect);
}

// Nothing can be sent any more. The peer may have said why before it closed.
void PeerMesh::lose_room(Peer& peer) {
    pull(peer);
    if (peer.stream) connection_ended(peer);
}

void PeerMesh::connection_ended(Peer& peer) {
    const bool needed = !peer.expected.empty() || !peer.outgoing.empty() || !peer.held.empty();
    if (!peer.left || needed) return fail_locked(Outcome::peer_lost, peer.rank);
    peer.stream.reset();
}

// ---- operations -----------------------------------------------------------------------------

bool PeerMesh::Operation::send(Parcel& parcel) {
    const std::lock_guard lock(mesh_.mutex_);
    if (mesh_.outcome_ != Outcome::ok) return false;
    Peer& peer = mesh_.peer_of(parcel.peer);
    if (!peer.stream) {
        mesh_.fail_locked(Outcome::peer_lost, parcel.peer);
    } else if (parcel.bytes <= unasked_bytes_max || peer.ready.erase(parcel.slot) > 0) {
        peer.outgoing.push_back({{}, &parcel});
        mesh_.push(peer);
    } else {
        peer.held.emplace(parcel.slot, &parcel);
    }
    return mesh_.outcome_ == Outcome::ok;
}

bool PeerMesh::Operation::receive(Parcel& parcel) {
    const std::lock_guard lock(mesh_.mutex_);
    if (mesh_.outcome_ != Outcome::ok) return false;
    Peer& peer = mesh_.peer_of(parcel.peer);
    const auto early = peer.early.find(parcel.slot);
    if (early != peer.early.end()) {
        if (early->second.size() != parcel.bytes) {
            mesh_.fail_locked(Outcome::peer_lost, parcel.peer);
            return false;
        }
        std::memcpy(parcel.data, early->second.data(), parcel.bytes);
        peer.early_bytes -= parcel.bytes;
        peer.early.erase(early);
        parcel.done = true;
        return true;
    }
    if (!peer.stream) {
        mesh_.fail_locked(Outcome::peer_lost, parcel.peer);
        return false;
    }
    INVARIANT(peer.expected.emplace(parcel.slot, &parcel).second);
    if (parcel.bytes > unasked_bytes_max) {
        peer.outgoing.push_front({{parcel.slot, 0, 0, 0, kind_ready}, nullptr});
        mesh_.push(peer);
    }
    return mesh_.outcome_ == Outcome::ok;
}

void PeerMesh::follow(Lock& lock, const Parcel& parcel, Clock::time_point until) {
    Follower own;
    own.parcel = &parcel;
    const auto place = followers_.insert(followers_.end(), &own);
    own.changed.wait_until(lock, until);
    followers_.erase(place);
}

bool PeerMesh::Operation::wait(const Parcel& parcel) {
    Lock lock(mesh_.mutex_);
    const auto place = mesh_.waited_for_.insert(parcel.peer);
    while (!parcel.done && mesh_.outcome_ == Outcome::ok) {
        if (Clock::now() >= deadline_) {
            mesh_.fail_locked(Outcome::timed_out, parcel.peer);
        } else if (mesh_.somebody_leads_) {
            mesh_.follow(lock, parcel, deadline_);
        } else {
            mesh_.somebody_leads_ = true;
            mesh_.look(lock, deadline_);
            mesh_.somebody_leads_ = false;
        }
    }
    mesh_.waited_for_.erase(place);
    // Somebody else has to lead now.
    if (!mesh_.somebody_leads_ && !mesh_.followers_.empty()) {
        mesh_.followers_.front()->changed.notify_one();
    }
    return parcel.done && mesh_.outcome_ == Outcome::ok;
}

}  // namespace ukemi::kernels
