// worker_link.hpp — a worker's tie to its coordinator: orders in, reports out, sign of life.
//
// The control thread runs `serve`: it alone reads the socket. Orders wait in a mailbox for the
// training thread, but what must not wait is done at once: an abandoned or discarded group's
// communicator is aborted, so that the training thread comes back from whatever it waits in. Any
// thread may send; whether the coordinator is there shows in `over`.
//
// A worker of a run that outlives its coordinator (Tenure) looks for the next one when its
// connection goes, and obeys none of an earlier term. Meanwhile its group comes to stand at the
// next boundary, and what it would say is not said: the next coordinator asks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/link_probe.hpp"
#include "runtime/connection.hpp"
#include "runtime/messages.hpp"
#include "runtime/rendezvous.hpp"

namespace ukemi::runtime {

class WorkerLink {
public:
    explicit WorkerLink(Invitation invitation);  // throws std::system_error

    // ---- the control thread ----
    // The first frame that the coordinator sends; nothing if it is gone or silent.
    std::optional<Welcome> await_welcome();
    // Until the coordinator is gone or silent, or `finish` was called. Then `over` holds.
    void serve(const Welcome& welcome);

    // ---- the training thread ----
    std::optional<Message> next_order();  // waits; nothing when it is over
    bool has_order() const { return orders_waiting_.load() > 0; }
    // The highest hold request seen.
    std::uint32_t hold_seen() const { return hold_seen_.load(); }
    // While it is registered, an order may abort it; at once, if that order has come already.
    void watch(kernels::Communicator& communicator, std::uint64_t epoch, std::uint64_t attempt);
    void committed(kernels::Communicator& communicator);  // no order discards it from now on
    void forget(kernels::Communicator& communicator);
    // A coordinator that does not read holds the training up, before reports fill the memory.
    void wait_for_room();
    void finish();  // no more orders are wanted: flush and end

    // This end's address towards the coordinator: where other hosts reach this one, too.
    std::string local_host() const { return local_host_; }

    // ---- any thread ----
    void send(const Message& message);
    void at(WorkerPhase phase, std::int64_t step = 0);
    void collective_begins();
    void collective_ends();
    // Tests: what inject() has ordered the training thread to do to itself.
    void hang_if_told();
    bool tears_step() { return tear_.exchange(false); }  // once
    void await_abandonment(std::uint64_t epoch);
    bool over() const { return over_.load(); }

private:
    struct Watched {
        kernels::Communicator* communicator;
        std::uint64_t epoch;
        std::uint64_t attempt;
    };
    void obey(Message message);
    void heed(const Tenure& tenure);
    bool rejoin();  // false: nobody has come
    bool hear_news();
    bool try_to_rejoin();  // one coordinator, who may be the wrong one
    void stand_alone();
    void inject(Fault fault);
    void abort_where(std::uint64_t epoch, std::uint64_t attempt);
    void end();
    void wake() const;
    Activity activity() const;
    bool exchange_bytes(Moment until);

    std::string heard_of_;  // where a coordinator is said to be
    Invitation invitation_;
    Tenure tenure_;                   // its run is empty: the worker ends with its connection
    bool refuses_ = false;            // who has just answered
    std::uint64_t last_attempt_ = 0;  // that was ordered
    std::mutex connection_mutex_;
    Connection connection_;
    std::string local_host_;
    bool joined_ = true;  // what is sent while it is not is lost
    FileDescriptor wake_;
    bool allow_faults_ = false;
    Moment heard_;

    std::mutex orders_mutex_;
    std::condition_variable orders_changed_;
    std::deque<Message> orders_;
    std::atomic<std::size_t> orders_waiting_{0};

    std::mutex watched_mutex_;
    std::vector<Watched> watched_;
    std::uint64_t abandoned_ = 0;  // epochs up to this one
    std::uint64_t discarded_ = 0;  // attempts up to this one

    std::atomic<WorkerPhase> phase_{WorkerPhase::loading};
    std::atomic<std::int64_t> step_{0};
    std::atomic<std::uint64_t> collectives_{0};
    std::atomic<int> in_flight_{0};
    std::atomic<std::uint32_t> hold_seen_{0};
    std::atomic<bool> over_{false};
    std::atomic<bool> finishing_{false};
    std::atomic<bool> mute_{false};  // tests: Fault::stop_heartbeats
    std::atomic<bool> hang_{false};
    std::atomic<bool> tear_{false};
};

// A Communicator that tells the link what it is doing.
class WatchedCommunicator final : public kernels::Communicator {
public:
    WatchedCommunicator(kernels::Communicator& inner, WorkerLink& link)
        : inner_(inner), link_(link) {}

    kernels::Membership membership() const override { return inner_.membership(); }
    std::vector<std::int32_t> hosts() const override { return inner_.hosts(); }
    kernels::Outcome all_reduce(std::string_view name, const kernels::Schedule& schedule,
                                kernels::Reduction reduction,
                                std::span<std::byte> elements) override {
        const Mark mark(link_);
        return inner_.all_reduce(name, schedule, reduction, elements);
    }
    kernels::Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                                std::span<std::byte> all) override {
        const Mark mark(link_);
        // With its words a step has sent all that it sends: the others can finish it.
        const bool tears = name == "words" && link_.tears_step();
        const kernels::Outcome outcome = inner_.all_gather(name, own, all);
        if (!tears || outcome != kernels::Outcome::ok) return outcome;
        link_.await_abandonment(inner_.membership().epoch);
        return kernels::Outcome::aborted;
    }
    kernels::Outcome broadcast(std::string_view name, std::span<std::byte> bytes,
                               int root) override {
        const Mark mark(link_);
        return inner_.broadcast(name, bytes, root);
    }
    kernels::Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                              std::span<std::byte> in) override {
        // Some ranks measure, and some do not: who measures is not ahead of the others.
        if (kernels::is_of_link_probe(name)) return inner_.exchange(name, peer, out, in);
        const Mark mark(link_);
        return inner_.exchange(name, peer, out, in);
    }
    void abort() override { inner_.abort(); }
    int suspect() const override { return inner_.suspect(); }

private:
    class Mark {
    public:
        explicit Mark(WorkerLink& link) : link_(link) {
            link_.hang_if_told();
            link_.collective_begins();
        }
        ~Mark() { link_.collective_ends(); }
        Mark(const Mark&) = delete;
        Mark& operator=(const Mark&) = delete;

    private:
        WorkerLink& link_;
    };
    kernels::Communicator& inner_;
    WorkerLink& link_;
};

}  // namespace ukemi::runtime
