module a.example/talker

go 1.26.0

require github.com/stdioguard/stdioguard v0.0.0

require golang.org/x/sys v0.50.0 // indirect

replace github.com/stdioguard/stdioguard => ../../..
