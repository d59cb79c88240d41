// peer_mesh.hpp — authenticated connections between all ranks, and waits on them that always end.
//
// For socket_communicator.cpp alone. What ends a wait: its bytes have come or gone; the deadline of
// its operation; the loss of any peer; a peer that takes leave because it failed; abort(). All but
// the first put the whole mesh into one failed state, the first cause of which is kept, and end all
// other waits.
//
// There is no thread of its own: of those who wait, one moves the bytes of all (it leads); a thread
// that sends tries to at once. Everything but the wait for the kernel is done under one lock.
//
// A frame is a header and at most a chunk of a parcel. Small parcels are sent unasked, and
// kept by the receiver until somebody asks for them; larger ones when the receiver has said that
// it is ready.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/socket_address.hpp"
#include "kernels/communicator.hpp"
#include "kernels/secure_stream.hpp"
#include "kernels/socket_communicator.hpp"

namespace ukemi::kernels {

class PeerMesh {
public:
    using Clock = std::chrono::steady_clock;

    // Bytes between the caller's memory and a peer. It stays where it is until it is done, or the
    // mesh has withdrawn.
    struct Parcel {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        int peer = 0;
        std::uint64_t slot = 0;
        std::size_t moved = 0;
        bool done = false;
    };

    explicit PeerMesh(GroupSettings settings);
    ~PeerMesh();
    PeerMesh(const PeerMesh&) = delete;
    PeerMesh& operator=(const PeerMesh&) = delete;

    Membership membership() const { return settings_.membership; }
    std::span<const std::byte> address() const { return std::as_bytes(std::span(address_)); }
    Outcome outcome() const { return outcome_; }  // ok until something failed
    int suspect() const;
    const std::vector<std::int32_t>& hosts() const { return hosts_; }  // once connected

    Outcome connect(std::span<const std::vector<std::byte>> addresses);
    void fail(Outcome outcome, int suspect);
    // After a failure: tells the others and closes all connections. When it returns, no parcel is
    // touched any more.
    void withdraw();

    // One operation of one thread. The functions return false once the mesh has failed.
    class Operation {
    public:
        explicit Operation(PeerMesh& mesh)
            : mesh_(mesh), deadline_(Clock::now() + mesh.settings_.deadline) {}
        bool send(Parcel& parcel);
        bool receive(Parcel& parcel);
        bool wait(const Parcel& parcel);

    private:
        PeerMesh& mesh_;
        Clock::time_point deadline_;
    };

private:
    using Lock = std::unique_lock<std::mutex>;
    struct Header {
        std::uint64_t slot = 0;
        std::uint32_t total = 0;   // of the parcel
        std::uint32_t offset = 0;  // of what follows
        std::uint32_t length = 0;  // of what follows
        std::uint32_t kind = 0;
    };
    static constexpr std::size_t header_bytes = 24;
    struct Outgoing {
        Header header;             // of what says nothing but itself
        Parcel* parcel = nullptr;  // or the rest of a parcel
    };
    // A rank that leaves says why: an Outcome, and whom it suspects.
    static constexpr std::size_t notice_bytes = 8;
    struct Peer {
        int rank = 0;
        std::optional<SecureStream> stream;
        bool left = false;  // it has taken leave, and nothing had failed
        bool watched_for_room = false;
        std::deque<Outgoing> outgoing;
        std::vector<Parcel*> leaving;           // written whole, and not yet with the kernel
        std::map<std::uint64_t, Parcel*> held;  // to send once the peer is ready
        std::set<std::uint64_t> ready;          // of the peer, before we sent
        std::map<std::uint64_t, Parcel*> expected;
        std::map<std::uint64_t, std::vector<std::byte>> early;
        std::size_t early_bytes = 0;
        // What is being read:
        std::array<std::byte, header_bytes> header_text{};
        std::size_t header_got = 0;
        Header header;
        Parcel* into = nullptr;      // or
        std::vector<std::byte> own;  // an early one, or a notice
        std::byte* target = nullptr;
        std::size_t left_to_read = 0;
    };
    // How the ranks meet: those who are called, and those who have come.
    struct Call {
        int peer = 0;
        SocketAddress address;
        std::optional<SecureStream> stream;
        Clock::time_point again{};
    };
    struct Meeting {
        std::vector<Call> calls;
        std::deque<SecureStream> guests;  // the oldest first
        Clock::time_point closed_until{};
    };

    // peer_mesh.cpp
    void fail_locked(Outcome outcome, int suspect);
    void wake() const;
    void follow(Lock& lock, const Parcel& parcel, Clock::time_point until);
    void look(Lock& lock, Clock::time_point until);
    void pump(Peer& peer);
    void push(Peer& peer);
    bool push_chunk(Peer& peer);
    void pull(Peer& peer);
    bool pull_header(Peer& peer);
    bool begin_frame(Peer& peer);
    bool begin_data(Peer& peer);
    bool end_frame(Peer& peer);
    void heed_notice(Peer& peer);
    void lose_room(Peer& peer);
    void connection_ended(Peer& peer);
    void finish(Parcel& parcel);
    Peer& peer_of(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    static std::array<std::byte, header_bytes> text_of(const Header& header);
    static std::vector<std::byte> goodbye_of(std::int32_t reason, std::int32_t suspect);
    static Header header_in(std::span<const std::byte, header_bytes> text);

    // peer_mesh_meeting.cpp
    bool everybody_is_here() const;
    int first_missing() const;
    bool read_addresses(std::span<const std::vector<std::byte>> addresses, Meeting& meeting);
    bool go_on_calling(Call& call);
    void welcome(SecureStream stream, int rank);
    bool hear_calls(Meeting& meeting);
    void receive_guests(Meeting& meeting);
    void hear_guests(Meeting& meeting);
    void wait_for_any(Lock& lock, const Meeting& meeting, Clock::time_point deadline) const;
    std::string identity_of(int from, int to) const;
    Protection protection() const;
    std::optional<PresharedKey> key_of(std::string_view identity) const;
    void say_goodbye();

    GroupSettings settings_;
    FileDescriptor listening_;
    FileDescriptor poll_;
    FileDescriptor wake_;
    std::string address_;
    std::vector<std::int32_t> hosts_;  // by rank
    std::vector<Peer> peers_;          // by rank; this rank's has no stream

    mutable std::mutex mutex_;
    // A thread that waits while another one leads: it is woken when its parcel is done, when
    // nobody leads any more, or when all is over; one at a time, for there may be many.
    struct Follower {
        const Parcel* parcel = nullptr;
        std::condition_variable changed;
    };
    std::list<Follower*> followers_;
    bool somebody_leads_ = false;
    std::multiset<int> waited_for_;
    std::atomic<Outcome> outcome_ = Outcome::ok;
    int suspect_ = -1;
    std::vector<std::byte> staging_;
    bool withdrawn_ = false;
};

}  // namespace ukemi::kernels
