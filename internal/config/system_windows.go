package config

// systemDirectory is empty: every user of a Windows machine may create \etc\shunt, so a file there is not an administrator's.
const systemDirectory = ""
