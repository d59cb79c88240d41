// sqlite.hpp — SQLite with owners for what it hands out, and its errors as ours.
//
// What is wrong with a file (no database, damaged, locked by somebody else) is an InputError, what
// is wrong with the machine (a full disk) a std::runtime_error; both name the file. A connection
// and its statements are used by one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace ukemi::analysis {

class SqliteDatabase {
public:
    enum class Access : std::uint8_t {
        read,  // also of a file, and in a folder, that may not be written
        write  // made where there is none
    };

    SqliteDatabase(const std::filesystem::path& file, Access access);
    ~SqliteDatabase();
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;

    const std::filesystem::path& file() const { return file_; }
    void execute(const std::string& sql);        // one statement or several, without results
    std::int64_t integer(std::string_view sql);  // the first field of the first row
    std::int64_t last_row() const;               // that was added
    std::int64_t changed_rows() const;           // by the last statement that changed any
    bool is_in_transaction() const;

    sqlite3* handle() const { return handle_; }
    [[noreturn]] void fail(int code) const;

private:
    std::filesystem::path file_;
    sqlite3* handle_ = nullptr;
};

// Values are bound from left to right; fields of a row are counted from zero.
class SqliteStatement {
public:
    SqliteStatement(SqliteDatabase& database, std::string_view sql);

    SqliteStatement& bind(std::int64_t value);
    SqliteStatement& bind(double value);  // not a number: NULL
    SqliteStatement& bind(std::string_view text);
    SqliteStatement& bind_nothing();

    bool step();  // to the next row; false: there is none
    void run();   // to the end, and ready to be bound anew

    std::int64_t integer(int field) const;
    double real(int field) const;            // NaN for NULL
    std::string_view text(int field) const;  // until the next step; empty for NULL
    bool is_nothing(int field) const;
    bool is_real(int field) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    void check(int code) const;

    SqliteDatabase& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int bound_ = 0;
};

}  // namespace ukemi::analysis
