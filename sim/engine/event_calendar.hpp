// event_calendar.hpp — sorts what is pending: 16-byte entries, smallest (instant, key) first.
//
// A hierarchical wheel over the bits of time, with a small sorted array in front of it. The clock
// never goes back, so an entry can be filed by the highest digit (base 256) in which its time
// differs from `base_`: that is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990), or a ladder
// queue (Tang, Goh, Thng 2005) whose rungs have fixed widths. An entry moves down at most once a
// digit, whatever the distribution of times: crowds at one instant, exponential gaps and
// Instant::never need no special care, and no width has to be guessed. It allocates only when it
// must hold more than ever before.
//
// Where an entry is, soonest first:
//   near_   a sorted array of a few dozen entries, all with at <= near_last_; pop takes from here.
//           With few entries pending, all of them are here (near_last_ is the end of time).
//   early_  a heap for what should be in near_ when that is full and the wheel cannot take it.
//           That happens only if the next event was looked at, then many came in before it.
//   lanes_  one instant with a crowd: a queue a phase, which needs no sorting.
//   wheel_  everything later than near_last_.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ukemi::sim {

struct CalendarEntry {
    std::int64_t at = 0;    // nanoseconds since the start of the run, never negative
    std::uint64_t key = 0;  // unique, orders the entries of one instant; top two bits: the phase

    friend bool operator<(const CalendarEntry& a, const CalendarEntry& b) {
        return a.order() < b.order();
    }

private:
    __extension__ using Order = unsigned __int128;  // one comparison without a branch
    Order order() const { return Order{static_cast<std::uint64_t>(at)} << 64 | key; }
};

class EventCalendar {
public:
    EventCalendar() { clear(); }

    std::size_t size() const { return size_; }
    std::size_t bytes_held() const {
        return sizeof *this + chunks_.capacity() * sizeof(Chunk) +
               early_.capacity() * sizeof(CalendarEntry);
    }

    // The soonest entry, or nullptr. Valid until the next insert, drop_front, remove_if or clear.
    const CalendarEntry* front() {
        if (near_begin_ != near_end_ && early_.empty()) return &near_[near_begin_];
        return front_elsewhere();
    }

    // An entry that will soon be in front, or one that was: good for prefetching, nothing else.
    const CalendarEntry& upcoming(std::size_t distance) const {
        return near_[std::min(near_begin_ + distance, near_capacity - 1)];
    }

    // now: the run's clock; the entry is not earlier, and no later entry may be earlier.
    // Entries of one instant and phase must come in the order of their keys.
    void insert(const CalendarEntry& entry, std::int64_t now) {
        ++size_;
        if (entry.at > near_last_) {
            file(entry);
        } else if (near_end_ - near_begin_ < near_max) {
            insert_near(entry);
        } else {
            insert_crowded(entry, now);
        }
    }

    // Removes what front() returned; front() must have been called since the last change.
    void drop_front() {
        --size_;
        if (near_begin_ != near_end_ && early_.empty()) {
            ++near_begin_;
        } else {
            drop_elsewhere();
        }
    }

    template <class Predicate>
    void remove_if(Predicate is_dead) {
        const auto live_end =
            std::remove_if(near_.begin() + near_begin_, near_.begin() + near_end_, is_dead);
        near_end_ = static_cast<std::size_t>(live_end - near_.begin());
        std::erase_if(early_, is_dead);
        std::make_heap(early_.begin(), early_.end(), later);
        size_ = near_end_ - near_begin_ + early_.size();
        const auto keep_live = [&](Bucket& bucket) {
            drain(std::exchange(bucket, Bucket{}), [&](const CalendarEntry& entry) {
                if (!is_dead(entry)) push(bucket, entry);
            });
            size_ += bucket.count;
        };
        for (Bucket& lane : lanes_) keep_live(lane);
        for (unsigned level = 0; level < level_count; ++level) {
            for (std::size_t digit = 0; digit < digit_count; ++digit) {
                Bucket& bucket = wheel_[level][digit];
                if (bucket.count == 0) continue;
                keep_live(bucket);
                if (bucket.count == 0) unmark(level, digit);
            }
        }
    }

    // Forgets all entries, keeps the memory.
    void clear() {
        size_ = 0;
        near_begin_ = near_end_ = 0;
        near_last_ = end_of_time;
        base_ = 0;
        early_.clear();
        lanes_ = {};
        for (auto& level : wheel_) level.fill(Bucket{});
        for (auto& level : occupied_) level.fill(0);
        occupied_levels_ = 0;
        chunks_used_ = 0;
        free_chunk_ = no_chunk;
    }

private:
    static constexpr unsigned digit_bits = 8;
    static constexpr std::size_t digit_count = std::size_t{1} << digit_bits;
    static constexpr unsigned level_count = (63 + digit_bits - 1) / digit_bits;
    static constexpr std::size_t near_target = 32;  // stop gathering buckets here
    static constexpr std::size_t sorted_max = 32;   // a larger bucket is split, not sorted
    static constexpr std::size_t near_max = 64;     // more is moved to the wheel
    static constexpr std::size_t near_capacity = 2 * near_max;
    static constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
    static constexpr std::uint32_t no_chunk = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t chunk_entries = 15;

    struct alignas(64) Chunk {
        std::array<CalendarEntry, chunk_entries> entries;
        std::uint32_t next;
    };
    struct Bucket {  // a queue of entries in a list of chunks
        std::uint32_t head = no_chunk;
        std::uint32_t tail = no_chunk;
        std::uint32_t count = 0;
        std::uint32_t begin = 0;            // the first entry's place in the head chunk
        std::uint32_t end = chunk_entries;  // behind the last entry's place in the tail chunk
    };

    static bool later(const CalendarEntry& a, const CalendarEntry& b) { return b < a; }
    static std::size_t phase_of(const CalendarEntry& entry) { return entry.key >> 62; }
    static std::size_t digit_of(std::int64_t at, unsigned level) {
        return static_cast<std::size_t>(at >> (digit_bits * level)) & (digit_count - 1);
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
        if (free_chunk_ != no_chunk) {
            return std::exchange(free_chunk_, chunks_[free_chunk_].next);
        }
        if (chunks_used_ == chunks_.size()) chunks_.emplace_back();
        return chunks_used_++;
    }
    void free_chunk(std::uint32_t chunk) {
        chunks_[chunk].next = std::exchange(free_chunk_, chunk);
    }

    void push(Bucket& bucket, CalendarEntry entry) {  // by value: chunks_ may move
        if (bucket.end == chunk_entries) {
            const std::uint32_t chunk = take_chunk();
            (bucket.count == 0 ? bucket.head : chunks_[bucket.tail].next) = chunk;
            bucket.tail = chunk;
            bucket.end = 0;
        }
        chunks_[bucket.tail].entries[bucket.end++] = entry;
        ++bucket.count;
    }

    // Hands over each entry of a detached bucket, in order, and frees its chunks.
    template <class Receiver>
    void drain(const Bucket& bucket, Receiver receive) {
        std::uint32_t begin = bucket.begin;
        std::uint32_t left = bucket.count;
        std::uint32_t chunk = bucket.head;
        while (left > 0) {
            const std::uint32_t next = chunks_[chunk].next;
            if (left > chunk_entries) __builtin_prefetch(&chunks_[next]);
            const std::uint32_t end = std::min(chunk_entries, begin + left);
            for (std::uint32_t i = begin; i < end; ++i) receive(chunks_[chunk].entries[i]);
            left -= end - begin;
            begin = 0;
            free_chunk(chunk);
            chunk = next;
        }
    }

    // ---- the wheel ---------------------------------------------------------------------------

    void mark(unsigned level, std::size_t digit) {
        occupied_[level][digit / 64] |= std::uint64_t{1} << digit % 64;
        occupied_levels_ |= 1U << level;
    }
    void unmark(unsigned level, std::size_t digit) {
        occupied_[level][digit / 64] &= ~(std::uint64_t{1} << digit % 64);
        for (const std::uint64_t word : occupied_[level]) {
            if (word != 0) return;
        }
        occupied_levels_ &= ~(1U << level);
    }
    std::size_t first_digit(unsigned level) const {  // of an occupied level
        std::size_t word = 0;
        while (occupied_[level][word] == 0) ++word;
        return 64 * word + static_cast<std::size_t>(std::countr_zero(occupied_[level][word]));
    }

    void file(CalendarEntry entry) {
        const unsigned level = level_between(entry.at, base_);
        const std::size_t digit = digit_of(entry.at, level);
        Bucket& bucket = wheel_[level][digit];
        if (bucket.count == 0) mark(level, digit);
        push(bucket, entry);
    }
    Bucket detach(unsigned level, std::size_t digit) {
        unmark(level, digit);
        return std::exchange(wheel_[level][digit], Bucket{});
    }
    std::int64_t start_of(unsigned level, std::size_t digit) const {
        const auto bits = static_cast<std::int64_t>(digit) << (digit_bits * level);
        if (level + 1 == level_count) return bits;
        return (base_ & ~span_mask(level + 1)) | bits;
    }

    // Brings the next entries into near_ or lanes_, which are both empty. False if there is none.
    bool refill() {
        while (occupied_levels_ != 0) {
            const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
            const std::size_t digit = first_digit(level);
            if (wheel_[level][digit].count <= sorted_max) {
                gather(level);
                return true;
            }
            base_ = start_of(level, digit);
            if (level == 0) {
                near_last_ = base_ - 1;
                fill_lanes();
                return true;
            }
            drain(detach(level, digit), [this](const CalendarEntry& entry) { file(entry); });
        }
        near_last_ = end_of_time;
        return false;
    }

    // Moves the first buckets of the lowest occupied level into near_ and sorts them there.
    void gather(unsigned level) {
        near_begin_ = near_end_ = 0;
        std::size_t digit = first_digit(level);
        while (true) {
            base_ = start_of(level, digit);
            drain(detach(level, digit),
                  [this](const CalendarEntry& entry) { near_[near_end_++] = entry; });
            if ((occupied_levels_ >> level & 1) == 0) break;
            digit = first_digit(level);
            if (near_end_ + wheel_[level][digit].count > near_target) break;
        }
        near_last_ = occupied_levels_ == 0 ? end_of_time : base_ | span_mask(level);
        // Insertion: buckets came in order and are small, so that little is out of place.
        for (std::size_t i = 1; i < near_end_; ++i) sink(near_[i], i);
    }

    // The crowd of the instant base_ goes from the wheel into its lanes, order kept in each.
    void fill_lanes() {
        const std::size_t digit = digit_of(base_, 0);
        if (wheel_[0][digit].count == 0) return;
        drain(detach(0, digit),
              [this](const CalendarEntry& entry) { push(lanes_[phase_of(entry)], entry); });
    }

    // ---- the entries in front ----------------------------------------------------------------

    // Writes the entry where it belongs among the sorted ones in front of `place`.
    void sink(CalendarEntry entry, std::size_t place) {
        while (place > near_begin_ && entry < near_[place - 1]) {
            near_[place] = near_[place - 1];
            --place;
        }
        near_[place] = entry;
    }

    void insert_near(const CalendarEntry& entry) {
        if (near_begin_ == near_end_) {
            near_begin_ = near_end_ = 0;
        } else if (near_end_ == near_capacity) {
            std::copy(near_.begin() + near_begin_, near_.end(), near_.begin());
            near_end_ -= std::exchange(near_begin_, 0);
        }
        // Shift the smaller side, if pops have left room in front; not worth asking for a few.
        const std::size_t count = near_end_ - near_begin_;
        if (count >= 16 && near_begin_ > 0 && entry < near_[near_begin_ + count / 2]) {
            std::size_t place = --near_begin_;
            while (near_[place + 1] < entry) {
                near_[place] = near_[place + 1];
                ++place;
            }
            near_[place] = entry;
        } else {
            sink(entry, near_end_++);
        }
    }

    // near_ is full. Its entries are filed anew as seen from now, if that leaves those already in
    // the wheel where they are: none may be below the digit in which now and base_ differ. It is
    // so whenever the last refill was for a pop, because then the clock has reached base_'s bucket.
    void insert_crowded(const CalendarEntry& entry, std::int64_t now) {
        const unsigned below = (1U << level_between(now, base_)) - 1;
        if (!early_.empty() || lane() != nullptr || (occupied_levels_ & below) != 0) {
            early_.push_back(entry);
            std::push_heap(early_.begin(), early_.end(), later);
            return;
        }
        base_ = now;
        near_last_ = now - 1;
        for (std::size_t i = near_begin_; i < near_end_; ++i) file(near_[i]);
        near_begin_ = near_end_ = 0;
        file(entry);
    }

    Bucket* lane() {  // the first lane with entries
        for (Bucket& lane : lanes_) {
            if (lane.count != 0) return &lane;
        }
        return nullptr;
    }

    bool early_is_next() const {
        return !early_.empty() && (near_begin_ == near_end_ || early_.front() < near_[near_begin_]);
    }

    const CalendarEntry* front_elsewhere() {
        while (true) {
            if (early_is_next()) return &early_.front();
            if (near_begin_ != near_end_) return &near_[near_begin_];
            if (lane() != nullptr) {
                fill_lanes();  // with what came in for this very instant
                const Bucket& next = *lane();
                return &chunks_[next.head].entries[next.begin];
            }
            if (!refill()) return nullptr;
        }
    }

    void drop_elsewhere() {
        if (early_is_next()) {
            std::pop_heap(early_.begin(), early_.end(), later);
            early_.pop_back();
        } else if (near_begin_ != near_end_) {
            ++near_begin_;
        } else {
            drop_from(*lane());
        }
    }

    void drop_from(Bucket& lane) {
        if (++lane.begin == chunk_entries || lane.count == 1) {
            free_chunk(std::exchange(lane.head, chunks_[lane.head].next));
            lane.begin = 0;
        }
        if (--lane.count == 0) lane = Bucket{};
    }

    std::size_t size_;
    std::size_t near_begin_;
    std::size_t near_end_;
    std::int64_t near_last_;
    std::int64_t base_;  // the wheel files entries by how they differ from this
    unsigned occupied_levels_;
    std::uint32_t chunks_used_;
    std::uint32_t free_chunk_;
    std::array<CalendarEntry, near_capacity> near_{};
    std::array<std::array<std::uint64_t, digit_count / 64>, level_count> occupied_;
    std::array<std::array<Bucket, digit_count>, level_count> wheel_;
    std::array<Bucket, 4> lanes_;
    std::vector<CalendarEntry> early_;
    std::vector<Chunk> chunks_;
};

}  // namespace ukemi::sim
