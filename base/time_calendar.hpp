// time_calendar.hpp — sorts what is pending: 16-byte entries, smallest (time, key) first.
//
// A hierarchical wheel over the bits of time, with at most 16 sorted entries in front of it. The
// clock never goes back, so an entry can be filed by the highest digit (base 64) in which its time
// differs from `base_`: that is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990), or a ladder
// queue (Tang, Goh, Thng 2005) whose rungs have fixed widths. An entry moves down at most once a
// digit, whatever the distribution of times: crowds at one time, exponential gaps and the end of
// time need no special care, and no width has to be guessed. It allocates only when it must hold
// more than ever before.
//
// Where an entry is, soonest first:
//   front_  at most 16 sorted entries, all with at <= front_last_; with few pending, all of them.
//   early_  a heap of those before base_, which the wheel cannot take. There are some only if the
//           next entry was looked at, then more than 16 came in before it.
//   lanes_  one time with a crowd: a queue a rank, which needs no sorting.
//   wheel_  everything from base_ on.
// What is taken out leaves front_ at once; elsewhere it stays, dead, until it would come to the
// front, or until the owner sweeps.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/sorted_sixteen.hpp"

namespace ukemi {

class TimeCalendar {
public:
    TimeCalendar() { clear(); }

    std::size_t size() const { return size_; }  // the dead are counted
    std::size_t bytes_held() const {
        return sizeof *this + chunks_.capacity() * (sizeof(Chunk) + sizeof next_chunk_[0]) +
               early_.capacity() * sizeof(CalendarEntry);
    }

    // The soonest entry that lives, of which there is one; forgets the dead that stand before it.
    // is_live(key) is asked only where there can be dead entries; announce(key) tells of entries
    // that will soon be next, and may be dead.
    template <class IsLive, class Announce>
    CalendarEntry front(bool any_dead, IsLive is_live, Announce announce) {
        if (front_.empty()) [[unlikely]] {
            if (const CalendarEntry* const found = bring(any_dead, is_live, announce))
                return *found;
        }
        return front_.at(0);
    }

    // now: the clock; the entry is not earlier, and no later entry may be earlier.
    // Entries of one time and rank must come in the order of their keys.
    void insert(const CalendarEntry& entry, std::int64_t now) {
        ++size_;
        if (entry.at > front_last_) {
            hold(entry);
        } else if (!front_.full()) [[likely]] {
            front_.insert(entry);
        } else {
            overflow(entry, now);
        }
    }

    // Removes what front() returned; front() must have been called since the last change.
    void drop_front() {
        --size_;
        if (front_.empty()) [[unlikely]] {
            drop_elsewhere();
        } else {
            front_.drop_first();
        }
    }

    // False if it is not in front: then it has to be found dead.
    bool take_out(const CalendarEntry& entry) {
        if (entry.at > front_last_ || !front_.erase(entry)) return false;
        --size_;
        return true;
    }

    template <class IsDead>
    void remove_if(IsDead is_dead) {
        for (unsigned place = front_.size(); place-- > 0;) {
            if (is_dead(front_.at(place))) front_.erase(place);
        }
        std::erase_if(early_, is_dead);
        std::make_heap(early_.begin(), early_.end(), later);
        size_ = front_.size() + early_.size();
        std::vector<CalendarEntry> kept;
        const auto keep = [&](const CalendarEntry& entry) {
            if (!is_dead(entry)) kept.push_back(entry);
        };
        const auto put_back = [&](Bucket& bucket) {
            for (const CalendarEntry& entry : kept) push(bucket, entry);
            size_ += kept.size();
            kept.clear();
        };
        for (Lane& lane : lanes_) {
            for (; !lane.empty(); drop_from(lane)) keep(first_of(lane));
            put_back(lane.bucket);
        }
        for (unsigned level = 0; level < level_count; ++level) {
            for (std::uint64_t left = occupied_[level]; left != 0; left &= left - 1) {
                const auto digit = static_cast<unsigned>(std::countr_zero(left));
                drain(wheel_[level][digit], keep);
                if (kept.empty()) unmark(level, digit);
                put_back(wheel_[level][digit]);
            }
        }
    }

    // Forgets all entries, keeps the memory.
    void clear() {
        size_ = 0;
        front_.clear();
        front_last_ = end_of_time;
        base_ = 0;
        early_.clear();
        lanes_ = {};
        for (auto& level : wheel_) level.fill(Bucket{});
        occupied_.fill(0);
        occupied_levels_ = 0;
        chunks_used_ = 0;
        free_chunk_ = no_chunk;
    }

private:
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned digit_count = 1U << digit_bits;
    static constexpr unsigned level_count = (63 + digit_bits - 1) / digit_bits;
    static constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
    static constexpr std::uint32_t no_chunk = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t chunk_entries = SortedSixteen::capacity;

    struct alignas(64) Chunk {
        std::array<CalendarEntry, chunk_entries> entries;
    };
    // A list of chunks. There is always room in the last, and the first stays when all are taken,
    // so that the branches of a push are not those of chance.
    struct Bucket {
        std::uint32_t head = no_chunk;
        std::uint32_t tail = no_chunk;
        std::uint32_t count = 0;
    };
    struct Lane {
        Bucket bucket;
        std::uint32_t taken = 0;  // of the bucket's count
        bool empty() const { return taken == bucket.count; }
    };

    static bool later(const CalendarEntry& a, const CalendarEntry& b) { return b < a; }
    static std::size_t rank_of(const CalendarEntry& entry) { return entry.key >> 62; }
    static unsigned digit_of(std::int64_t at, unsigned level) {
        return static_cast<unsigned>(at >> (digit_bits * level)) & (digit_count - 1);
    }
    // The highest digit in which two times differ, zero if they do not.
    static unsigned level_between(std::int64_t a, std::int64_t b) {
        const auto difference = static_cast<std::uint64_t>(a ^ b) | 1;
        return static_cast<unsigned>(std::bit_width(difference) - 1) / digit_bits;
    }
    static std::int64_t span_mask(unsigned level) {  // the bits below a digit of this level
        return (std::int64_t{1} << (digit_bits * level)) - 1;
    }

    // ---- chunks ------------------------------------------------------------------------------

    std::uint32_t take_chunk() {
        if (free_chunk_ != no_chunk) return std::exchange(free_chunk_, next_chunk_[free_chunk_]);
        if (chunks_used_ == chunks_.size()) {
            chunks_.emplace_back();
            next_chunk_.push_back(no_chunk);
        }
        return chunks_used_++;
    }
    void free_chunk(std::uint32_t chunk) { next_chunk_[chunk] = std::exchange(free_chunk_, chunk); }

    void push(Bucket& bucket, CalendarEntry entry) {  // by value: chunks_ may move
        if (bucket.tail == no_chunk) [[unlikely]]
            bucket.head = bucket.tail = take_chunk();
        chunks_[bucket.tail].entries[bucket.count++ % chunk_entries] = entry;
        if (bucket.count % chunk_entries == 0) [[unlikely]] {
            const std::uint32_t chunk = take_chunk();
            next_chunk_[bucket.tail] = chunk;
            bucket.tail = chunk;
        }
    }

    // Hands over each entry of a bucket, in order, and leaves it empty.
    template <class Receiver>
    void drain(Bucket& bucket, Receiver receive) {
        std::uint32_t chunk = bucket.head;
        bucket.tail = chunk;
        for (std::uint32_t left = std::exchange(bucket.count, 0);; left -= chunk_entries) {
            const std::uint32_t next = next_chunk_[chunk];
            if (left > chunk_entries) __builtin_prefetch(&chunks_[next]);
            const std::uint32_t count = std::min(chunk_entries, left);
            for (std::uint32_t i = 0; i < count; ++i) receive(chunks_[chunk].entries[i]);
            if (chunk != bucket.head) free_chunk(chunk);
            if (left < chunk_entries) return;
            chunk = next;
        }
    }

    // ---- the wheel ---------------------------------------------------------------------------

    unsigned first_digit(unsigned level) const {  // of an occupied level
        return static_cast<unsigned>(std::countr_zero(occupied_[level]));
    }
    void file(const CalendarEntry& entry) {
        const unsigned level = level_between(entry.at, base_);
        const unsigned digit = digit_of(entry.at, level);
        occupied_[level] |= std::uint64_t{1} << digit;
        occupied_levels_ |= 1U << level;
        push(wheel_[level][digit], entry);
    }
    void unmark(unsigned level, unsigned digit) {
        occupied_[level] &= ~(std::uint64_t{1} << digit);
        if (occupied_[level] == 0) occupied_levels_ &= ~(1U << level);
    }
    std::int64_t start_of(unsigned level, unsigned digit) const {
        const auto bits = static_cast<std::int64_t>(digit) << (digit_bits * level);
        if (level + 1 == level_count) return bits;
        return (base_ & ~span_mask(level + 1)) | bits;
    }

    // Brings the next entries into front_ or lanes_, which are both empty. There are some.
    template <class IsLive, class Announce>
    void refill(bool any_dead, IsLive is_live, Announce announce) {
        while (true) {
            const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
            const unsigned digit = first_digit(level);
            base_ = start_of(level, digit);
            if (wheel_[level][digit].count < chunk_entries) {
                return gather(level, any_dead, is_live, announce);
            }
            if (level == 0) {
                front_last_ = base_ - 1;
                return fill_lanes();
            }
            unmark(level, digit);
            drain(wheel_[level][digit], [this](const CalendarEntry& entry) { file(entry); });
        }
    }

    // Moves the first buckets of the lowest occupied level to the front, as many as there is room.
    template <class IsLive, class Announce>
    void gather(unsigned level, bool any_dead, IsLive is_live, Announce announce) {
        std::array<CalendarEntry, 2 * chunk_entries> gathered;
        std::size_t count = 0;
        unsigned digit = first_digit(level);
        do {
            // All of the chunk, whatever is in it: a loop over the count would end by chance.
            Bucket& bucket = wheel_[level][digit];
            std::copy_n(chunks_[bucket.head].entries.begin(), chunk_entries,
                        gathered.begin() + count);
            count += std::exchange(bucket.count, 0);
            unmark(level, digit);
            front_last_ = start_of(level, digit) | span_mask(level);
            if (occupied_[level] == 0) break;
            digit = first_digit(level);
        } while (count + wheel_[level][digit].count <= front_.capacity);
        for (std::size_t i = 0; i < count; ++i) {
            announce(gathered[i].key);
            if (any_dead && !is_live(gathered[i].key)) {
                --size_;
            } else {
                front_.insert(gathered[i]);
            }
        }
        if (occupied_levels_ == 0) front_last_ = end_of_time;
    }

    // The crowd of the time base_ goes from the wheel into its lanes, order kept in each.
    void fill_lanes() {
        const unsigned digit = digit_of(base_, 0);
        if (wheel_[0][digit].count == 0) return;
        unmark(0, digit);
        drain(wheel_[0][digit],
              [this](const CalendarEntry& entry) { push(lanes_[rank_of(entry)].bucket, entry); });
    }

    // ---- the entries in front ----------------------------------------------------------------

    // For later than front_last_.
    void hold(const CalendarEntry& entry) {
        if (entry.at >= base_) [[likely]]
            return file(entry);
        early_.push_back(entry);
        std::push_heap(early_.begin(), early_.end(), later);
    }

    // The front is full: those of the last time in it leave. The wheel can begin at the clock if
    // none of its entries is below the digit in which the clock and base_ differ.
    [[gnu::noinline]] void overflow(const CalendarEntry& entry, std::int64_t now) {
        const unsigned below = (1U << level_between(now, base_)) - 1;
        const bool can_begin =
            early_.empty() && lane() == nullptr && (occupied_levels_ & below) == 0;
        if (can_begin && now < base_) base_ = now;
        const std::int64_t last = std::max(entry.at, front_.at(front_.capacity - 1).at);
        front_last_ = last - 1;
        const unsigned kept = front_.count_until(front_last_);
        for (unsigned place = kept; place < front_.capacity; ++place) hold(front_.at(place));
        while (front_.size() > kept) front_.erase(front_.size() - 1);
        if (entry.at == last) {
            hold(entry);
        } else {
            front_.insert(entry);
        }
    }

    Lane* lane() {  // the first lane with entries
        for (Lane& lane : lanes_) {
            if (!lane.empty()) return &lane;
        }
        return nullptr;
    }
    const CalendarEntry& first_of(const Lane& lane) const {
        return chunks_[lane.bucket.head].entries[lane.taken % chunk_entries];
    }

    // The front is empty: it is filled, or what comes next is found elsewhere.
    template <class IsLive, class Announce>
    [[gnu::noinline]] const CalendarEntry* bring(bool any_dead, IsLive is_live, Announce announce) {
        while (front_.empty()) {
            const CalendarEntry* found = nullptr;
            if (!early_.empty()) {
                found = &early_.front();
            } else if (lane() != nullptr) {
                fill_lanes();  // with what came in for this very time
                found = &first_of(*lane());
            } else {
                refill(any_dead, is_live, announce);
                continue;
            }
            if (!any_dead || is_live(found->key)) return found;
            --size_;
            drop_elsewhere();
        }
        return nullptr;
    }

    [[gnu::noinline]] void drop_elsewhere() {
        if (!early_.empty()) {
            std::pop_heap(early_.begin(), early_.end(), later);
            early_.pop_back();
        } else {
            drop_from(*lane());
        }
    }

    void drop_from(Lane& lane) {
        if (++lane.taken % chunk_entries == 0) {
            free_chunk(std::exchange(lane.bucket.head, next_chunk_[lane.bucket.head]));
        }
        if (lane.empty()) lane.taken = lane.bucket.count = 0;
    }

    SortedSixteen front_;
    std::int64_t front_last_;
    std::size_t size_;
    std::int64_t base_;  // the wheel files entries by how they differ from this
    unsigned occupied_levels_;
    std::uint32_t chunks_used_;
    std::uint32_t free_chunk_;
    std::array<std::uint64_t, level_count> occupied_;
    std::array<std::array<Bucket, digit_count>, level_count> wheel_;
    std::array<Lane, 4> lanes_;
    std::vector<CalendarEntry> early_;
    std::vector<Chunk> chunks_;
    std::vector<std::uint32_t> next_chunk_;
};

}  // namespace ukemi
